// What reconfiguration costs, by synthesis: node area.mjs YOSYS RTL PACKAGE OUT [pe]
//   YOSYS    folder with node_modules/@yowasp/yosys        RTL  the folder rtl/
//   PACKAGE  the generated tegula_pkg.sv                    OUT  folder for area.txt and area.json
// Prints the tables of docs/area.md; with `pe`, only that of the PE (the tile takes some minutes).
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openYosys, packages, readRtl, withParameters } from './yosys.mjs';

const [yosysFolder, rtl, packageFile, out, mode] = process.argv.slice(2);
if (!out) {
  console.error('area: usage: node area.mjs YOSYS RTL PACKAGE OUT [pe]');
  process.exit(2);
}
const yosys = await openYosys(yosysFolder);
const yosysVersion = yosys.version;
const { sources, constants } = readRtl(rtl, packageFile);

const LATENCY = 4; // fma_latency of every preset

// Runs a script; returns the statistics that it wrote to stat.json.
async function statistics(files, script) {
  try {
    const { written } = await yosys.run(files, script, true);
    return JSON.parse(written['stat.json']);
  } catch (error) {
    console.error(`area: ${error.message}`);
    process.exit(1);
  }
}

// Gates and flip-flops of a flat design: two-input gates, inverters and multiplexers after ABC.
function count(types) {
  let gates = 0;
  let flops = 0;
  for (const [type, number] of Object.entries(types)) {
    if (/^\$_S?DFF/.test(type)) flops += number;
    else if (/^\$_[A-Z]+_$/.test(type)) gates += number;
    else if (type !== '$scopeinfo') throw new Error(`cell ${type} is neither gate nor flip-flop`);
  }
  return { gates, flops, cells: gates + flops };
}

async function pe(top, parameters) {
  const files = { ...sources, [`${top}.sv`]: withParameters(sources[`${top}.sv`], { Latency: LATENCY, ...parameters }) };
  const list = [...packages, 'mul12.sv', 'fma_add.sv', `${top}.sv`].join(' ');
  const stat = await statistics(
    files,
    `read_verilog -sv ${list}
     hierarchy -check -top ${top}
     synth -flatten -run coarse:
     abc -g simple
     opt_clean
     tee -q -o stat.json stat -json -tech cmos
`,
  );
  const transistors = parseInt(stat.design.estimated_num_transistors, 10);
  return { ...count(stat.design.num_cells_by_type), transistors };
}

const variants = [
  ['FP32 only', 'pe_apart', { Wide: `1'b1`, Narrow: `1'b0` }],
  ['four narrow lanes only', 'pe_apart', { Wide: `1'b0`, Narrow: `1'b1` }],
  ['both side by side', 'pe_apart', { Wide: `1'b1`, Narrow: `1'b1` }],
  ['ours', 'pe', {}],
];

const rows = [];
for (const [name, top, parameters] of variants) rows.push({ name, ...(await pe(top, parameters)) });
const [wide, narrow, both, ours] = rows;
const ratios = {
  side_by_side: ours.cells / both.cells,
  side_by_side_transistors: ours.transistors / both.transistors,
  sum_of_both: ours.cells / (wide.cells + narrow.cells),
};

const column = (text, width) => String(text).padStart(width);
const lines = [
  `One PE, latency ${LATENCY}, flattened; Yosys ${yosysVersion}, abc -g simple`,
  `${'variant'.padEnd(24)}${column('gates', 9)}${column('flip-flops', 12)}${column('cells', 9)}${column('transistors', 13)}`,
];
for (const row of rows)
  lines.push(
    row.name.padEnd(24) + column(row.gates, 9) + column(row.flops, 12) + column(row.cells, 9) + column(row.transistors, 13),
  );
lines.push(
  `ours / side by side     ${column(ratios.side_by_side.toFixed(3), 30)}${column(ratios.side_by_side_transistors.toFixed(3), 13)}`,
  `ours / sum of the first two ${column(ratios.sum_of_both.toFixed(3), 26)}`,
);

// The tile, module by module, as its hierarchy stands. Memories stay memories.
async function tile() {
  const modules = readdirSync(rtl)
    .filter((name) => name.endsWith('.sv') && !packages.includes(name) && !/^(chip|section_control|control_line|delay|agcu.*|fabric_line|lane.*|post_lane)\.sv$/.test(name))
    .sort();
  const read = `read_verilog -sv ${[...packages, ...modules].join(' ')}
    hierarchy -check -top tile\n`;
  const bits = await statistics(sources, `${read} proc\n opt_clean\n tee -q -o stat.json stat -json\n`);
  const stat = await statistics(
    sources,
    `${read}
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
  return { stat, bits };
}

const plainName = (type) => type.replace(/^\\/, '');

// Cells below one instance, by kind; submodules counted as often as they are instantiated.
function below(modules, name) {
  const sum = { gates: 0, flops: 0, memories: 0 };
  const found = Object.entries(modules).find(([key]) => plainName(key) === name);
  for (const [type, number] of Object.entries(found ? found[1].num_cells_by_type : {})) {
    let one = { gates: 0, flops: 0, memories: 0 };
    if (type.startsWith('$mem')) one.memories = 1;
    else if (type.startsWith('$_')) one = { ...one, ...count({ [type]: 1 }) };
    else if (type !== '$scopeinfo') one = below(modules, plainName(type));
    for (const key of Object.keys(sum)) sum[key] += number * one[key];
  }
  return sum;
}
function memoryBits(modules, name) {
  const found = Object.entries(modules).find(([key]) => plainName(key) === name);
  let bits = found ? found[1].num_memory_bits : 0;
  for (const [type, number] of Object.entries(found ? found[1].num_cells_by_type : {}))
    if (Object.keys(modules).some((key) => plainName(key) === plainName(type))) bits += number * memoryBits(modules, plainName(type));
  return bits;
}

const result = { yosys: yosysVersion, latency: LATENCY, pe: rows, ratios };
if (mode !== 'pe') {
  const { stat, bits } = await tile();
  const parts = [['tile', 'the tile'], ['mx', 'matrix unit'], ['mx_array', '  its array of PEs'], ['vx', 'vector unit'], ['scratchpad', 'scratchpad'], ['tx', 'tx'], ['semaphores', 'semaphores']];
  result.tile = parts.map(([module, name]) => {
    const sum = below(stat.modules, module);
    return { name: name.trim(), gates: sum.gates, flops: sum.flops, cells: sum.gates + sum.flops, memory_bits: memoryBits(bits.modules, module) };
  });
  lines.push(
    '',
    `One tile of ${constants.P} x ${constants.P} PEs; memories are not mapped to gates`,
    `${'part'.padEnd(24)}${column('gates', 9)}${column('flip-flops', 12)}${column('cells', 9)}${column('memory bits', 13)}`,
  );
  parts.forEach(([, name], i) => {
    const row = result.tile[i];
    lines.push(name.padEnd(24) + column(row.gates, 9) + column(row.flops, 12) + column(row.cells, 9) + column(row.memory_bits, 13));
  });
}

const text = `${lines.join('\n')}\n`;
process.stdout.write(text);
writeFileSync(join(out, 'area.txt'), text);
writeFileSync(join(out, 'area.json'), `${JSON.stringify(result, null, 2)}\n`);
