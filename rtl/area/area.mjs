// What reconfiguration costs, and what a chip of a preset is made of, by synthesis: node area.mjs YOSYS RTL OUT PE [NAME=PACKAGE...]
//   YOSYS  folder with node_modules/@yowasp/yosys   RTL  the folder rtl/   OUT  folder for area.txt and area.json
//   PE     the generated tegula_pkg.sv for the variants of the PE
//   NAME=PACKAGE  presets and their tegula_pkg.sv
// Prints the tables of docs/area.md.
//
// What an array has many of (PEs, ALUs) is synthesised once and counted as often as it is there; so a preset takes minutes whatever
// its size. Modules that are no box are flat.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openYosys, readModule, readRtl } from './yosys.mjs';

const [yosysFolder, rtl, out, pePackage, ...presets] = process.argv.slice(2);
if (!pePackage) {
  console.error('area: usage: node area.mjs YOSYS RTL OUT PE [NAME=PACKAGE...]');
  process.exit(2);
}
const yosys = await openYosys(yosysFolder);
const LATENCY = 4; // fma_latency of every preset

// Runs a script; returns the JSON files that it wrote.
async function statistics(sources, script) {
  try {
    const { written } = await yosys.run(sources, script, true);
    return Object.fromEntries(
      ['stat.json', 'bits.json'].filter((name) => written[name]).map((name) => [name, JSON.parse(new TextDecoder().decode(toBytes(written[name])))]),
    );
  } catch (error) {
    console.error(`area: ${error.message}`);
    process.exit(1);
  }
}
const toBytes = (data) => (typeof data === 'string' ? new TextEncoder().encode(data) : data);

// Gates and flip-flops: two-input gates, inverters and multiplexers after ABC. Boxes and memories are counted by name.
function count(types) {
  const sum = { gates: 0, flops: 0, boxes: {} };
  for (const [type, number] of Object.entries(types)) {
    if (/^\$_(S|AL)?DFF/.test(type)) sum.flops += number;
    else if (/^\$_[A-Z0-9]+_$/.test(type)) sum.gates += number;
    else if (/^\$mem|^\$scopeinfo|^\$check|^\$print|^\$assert/.test(type)) continue;
    else if (type.startsWith('$')) throw new Error(`cell ${type} is neither gate nor flip-flop`);
    else {
      const name = type.replace(/^\\/, '').split('$')[0]; // instances of other parameters are named apart
      sum.boxes[name] = (sum.boxes[name] ?? 0) + number;
    }
  }
  return sum;
}

// The PE, flat.
async function pe(sources, top, parameters) {
  const { 'stat.json': stat } = await statistics(
    sources,
    `${readModule(sources, top, { Latency: LATENCY, ...parameters })}
     synth -flatten -run coarse:
     abc -g simple
     opt_clean
     tee -q -o stat.json stat -json -tech cmos
`,
  );
  const { gates, flops } = count(stat.design.num_cells_by_type);
  return { gates, flops, cells: gates + flops, transistors: parseInt(stat.design.estimated_num_transistors, 10) };
}

// A module without its boxes, memories as bits.
async function part(sources, top, parameters, boxes) {
  const stat = await statistics(
    sources,
    `${readModule(sources, top, parameters, boxes)}
     tee -q -o bits.json stat -json
     synth -run coarse:fine
     opt -fast -full
     opt -undriven -fine
     techmap
     opt -fast
     abc -g simple
     opt_clean
     tee -q -o stat.json stat -json
`,
  );
  return { ...count(stat['stat.json'].design.num_cells_by_type), bits: stat['bits.json'].design.num_memory_bits };
}

const column = (text, width) => String(text).padStart(width);
const lines = [];
const say = (line) => {
  lines.push(line);
  console.log(line);
};

const result = { yosys: yosys.version, latency: LATENCY };
{
  const { sources } = readRtl(rtl, pePackage);
  const variants = [
    ['FP32 only', 'pe_apart', { Wide: `1'b1`, Narrow: `1'b0` }],
    ['four narrow lanes only', 'pe_apart', { Wide: `1'b0`, Narrow: `1'b1` }],
    ['both side by side', 'pe_apart', { Wide: `1'b1`, Narrow: `1'b1` }],
    ['ours', 'pe', {}],
  ];
  say(`One PE, latency ${LATENCY}, flattened; Yosys ${yosys.version}, abc -g simple`);
  say(`${'variant'.padEnd(24)}${column('gates', 9)}${column('flip-flops', 12)}${column('cells', 9)}${column('transistors', 13)}`);
  const rows = [];
  for (const [name, top, parameters] of variants) {
    const row = { name, ...(await pe(sources, top, parameters)) };
    rows.push(row);
    say(row.name.padEnd(24) + column(row.gates, 9) + column(row.flops, 12) + column(row.cells, 9) + column(row.transistors, 13));
  }
  const [wide, narrow, both, ours] = rows;
  result.pe = rows;
  result.ratios = {
    side_by_side: ours.cells / both.cells,
    side_by_side_transistors: ours.transistors / both.transistors,
    sum_of_both: ours.cells / (wide.cells + narrow.cells),
  };
  say(`ours / side by side     ${column(result.ratios.side_by_side.toFixed(3), 30)}${column(result.ratios.side_by_side_transistors.toFixed(3), 13)}`);
  say(`ours / sum of the first two ${column(result.ratios.sum_of_both.toFixed(3), 26)}`);
}

// What a preset consists of: [name, module, parameters, boxes]; a box is a part of its own, or one of those before it. `of` says
// how often it is on the chip.
function partsOf(constants) {
  const latency = { Latency: constants.FmaLatency };
  const [rows, cols] = [Number(constants.Rows), Number(constants.Cols)];
  const tiles = rows * cols, contexts = Number(constants.AgcuContexts);
  return [
    { name: 'pe', top: 'pe', parameters: latency },
    { name: 'vx_alu', top: 'vx_alu', parameters: latency },
    { name: 'matrix unit', top: 'mx', boxes: ['pe'], of: tiles },
    { name: 'vector unit', top: 'vx', boxes: ['vx_alu'], of: tiles },
    { name: 'scratchpad', top: 'scratchpad', of: tiles },
    { name: 'tx', top: 'tx', of: tiles },
    { name: 'its semaphores', top: 'semaphores', of: tiles },
    { name: 'rest of a tile', top: 'tile', boxes: ['mx', 'vx', 'scratchpad', 'tx', 'semaphores'], of: tiles },
    { name: 'context', top: 'agcu_context', of: (rows + cols) * contexts },
    { name: "an AGCU's semaphores", top: 'semaphores', parameters: { Units: contexts, Increments: contexts + 3 }, of: rows + cols },
    { name: 'rest of an AGCU', top: 'agcu', boxes: ['agcu_context', 'semaphores'], of: rows + cols },
    { name: 'lanes of a row', top: 'fabric_line', parameters: { N: cols + 1 }, of: rows },
    { name: 'lanes of a column', top: 'fabric_line', parameters: { N: rows + 1 }, of: cols },
    { name: 'control of a row', top: 'control_line', parameters: { N: cols }, of: rows },
    { name: 'end of the control', top: 'control_stop', of: tiles + rows + cols },
  ];
}

async function chip(name, packageFile) {
  const { sources, constants } = readRtl(rtl, packageFile);
  say('');
  say(`${name}: ${constants.Rows} x ${constants.Cols} tiles of ${constants.P} x ${constants.P} PEs; memories are not mapped to gates`);
  say(`${'part'.padEnd(20)}${column('gates', 10)}${column('flip-flops', 12)}${column('cells', 10)}${column('memory bits', 13)}${column('of them', 9)}${column('share', 8)}`);
  const done = {};
  const parts = [];
  for (const one of partsOf(constants)) {
    const sum = await part(sources, one.top, one.parameters, one.boxes);
    for (const [box, number] of Object.entries(sum.boxes)) {
      if (!one.of || !done[box] || done[box].of) continue; // a part with a row of its own
      sum.gates += number * done[box].gates;
      sum.flops += number * done[box].flops;
      sum.bits += number * done[box].bits;
    }
    done[one.top] = { ...sum, of: one.of };
    parts.push({ name: one.name, gates: sum.gates, flops: sum.flops, cells: sum.gates + sum.flops, memory_bits: sum.bits, of: one.of ?? 0 });
  }
  const all = parts.reduce((total, row) => total + row.of * row.cells, 0);
  for (const row of parts)
    say(
      row.name.padEnd(20) + column(row.gates, 10) + column(row.flops, 12) + column(row.cells, 10) + column(row.memory_bits, 13) +
        (row.of ? column(row.of, 9) + column(`${((100 * row.of * row.cells) / all).toFixed(1)} %`, 8) : ''),
    );
  say(`${'the chip'.padEnd(20)}${column('', 22)}${column(all, 10)}`);
  return { name, parts, cells: all };
}

result.chips = [];
for (const preset of presets) {
  const [name, packageFile] = preset.split('=');
  readFileSync(packageFile); // says which one is not there
  result.chips.push(await chip(name, packageFile));
}

writeFileSync(join(out, 'area.txt'), `${lines.join('\n')}\n`);
writeFileSync(join(out, 'area.json'), `${JSON.stringify(result, null, 2)}\n`);
