// How deep the logic between registers is: node timing.mjs YOSYS RTL PACKAGE OUT [MODULE...]
//   YOSYS, RTL, PACKAGE, OUT: as for area.mjs; writes timing.txt and timing.json
// A module's depth is that of its and-inverter graph after ABC (strash; balance; dch; balance): the longest path from a register,
// a memory's output or a port to a register, a memory's input or a port. Paths through several of these modules are not joined.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
import { openYosys, packages, readRtl, withParameters } from './yosys.mjs';

const MINUTES = 10; // for one module, after which it is left out
const LIMIT = 1.3; // of the multiply-add's stage

// Modules and what belongs to them, with parameters that differ from the module's, and with smaller sizes of the array where many
// of a kind stand beside each other and ABC would not end: elements of a flit are converted alike, and a doubling of P is a stage more of
// the shifter behind, two levels; counters count alike, and a doubling of them is a level more of the tree that names one. Not here: what has arrays of structs at its ports
// or inside, which Yosys does not read (the chip, AGCUs' jobs, ports, indices and loads, the registers of lanes), and vx, whose
// registers and lanes have their depth in vx_alu.
const list = [
  { top: 'pe', files: ['mul12', 'fma_add'], latency: true },
  { top: 'vx_alu', files: ['fma_lane', 'fma_add', 'fp_unpack', 'mul12'], latency: true },
  {
    top: 'mx_control',
    files: ['mx_nest', 'mx_stationary', 'mx_streamed', 'mx_stream', 'mx_coordinates', 'mx_acc_owner'],
  },
  { top: 'vx_control', files: ['vx_rows', 'vx_words', 'vx_rounding'] },
  { top: 'mx_transposer', files: [] },
  { top: 'mx_collect', files: ['fp_unpack'] },
  { top: 'sequencer', files: [] },
  { top: 'row_operand', files: [] },
  { top: 'tx', files: ['burst_source', 'row_walk'] },
  { top: 'scratchpad', files: ['scratchpad_bank'] },
  { top: 'post_fifo', files: [] },
  { top: 'post_source', files: ['post_fifo'] },
  { top: 'post_arbiter', files: [] },
  { top: 'post_lane', files: [], line: true },
  { top: 'lane_arbiter', files: [], line: true },
  { top: 'agcu_context', files: ['agcu_start', 'sequencer', 'row_operand', 'post_source', 'post_fifo'] },
  { top: 'agcu_start', files: [] },
  { top: 'mx_write', files: [] },
  { top: 'agcu_convert', files: [], sizes: { P: 2, FlitBits: 64 } },
  { top: 'agcu_walk', files: [] },
  { top: 'semaphores', files: [], sizes: { Semaphores: 16 } },
];

async function depthOf({ entry, yosysFolder, rtl, packageFile }) {
  const yosys = await openYosys(yosysFolder);
  const { sources, constants } = readRtl(rtl, packageFile, entry.sizes);
  const top = `${entry.top}.sv`;
  if (entry.latency) sources[top] = withParameters(sources[top], { Latency: constants.FmaLatency });
  if (entry.line) sources[top] = withParameters(sources[top], { N: Number(constants.Cols) + 1 }); // positions of a row
  const { log } = await yosys.run(
    sources,
    `read_verilog -sv ${[...packages, ...entry.files.map((name) => `${name}.sv`), top].join(' ')}
     hierarchy -check -top ${entry.top}
     proc
     flatten
     opt -full
     memory -nomap
     opt
     techmap
     opt
     abc -g AND -script +strash;balance;dch;balance;print_stats
`,
    false,
  );
  const found = [...log.matchAll(/and =\s*(\d+)\s+lev =\s*(\d+)/g)].pop();
  if (!found) throw new Error('ABC did not say how deep');
  return { gates: Number(found[1]), levels: Number(found[2]) };
}

// In a thread of its own, that it can be ended.
function measure(data) {
  return new Promise((resolve) => {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: data });
    const timer = setTimeout(() => {
      worker.terminate();
      resolve({ why: `not within ${MINUTES} minutes` });
    }, MINUTES * 60000);
    const done = (answer) => {
      clearTimeout(timer);
      worker.terminate();
      resolve(answer);
    };
    worker.on('message', done);
    worker.on('error', (error) => done({ why: (/ERROR: .*/.exec(error.message) ?? [error.message.trim().split('\n').pop()])[0] }));
  });
}

async function main() {
  const [yosysFolder, rtl, packageFile, out, ...only] = process.argv.slice(2);
  if (!out) {
    console.error('timing: usage: node timing.mjs YOSYS RTL PACKAGE OUT [MODULE...]');
    process.exit(2);
  }
  const { version } = await openYosys(yosysFolder);
  const { constants } = readRtl(rtl, packageFile);
  const lines = [`P = ${constants.P}, multiply-adds of ${constants.FmaLatency} stages; Yosys ${version}; levels of and-inverter graphs`];
  const rows = [];
  let stage = 0;
  for (const entry of list.filter((one) => !only.length || only.includes(one.top))) {
    const answer = await measure({ entry, yosysFolder, rtl, packageFile });
    if (entry.top === 'pe') stage = answer.levels ?? 0;
    const ratio = answer.levels && stage ? answer.levels / stage : null;
    rows.push({ module: entry.top, ...answer, ratio });
    const said = answer.levels
      ? `${String(answer.levels).padStart(7)}${String(answer.gates).padStart(9)}${ratio ? ratio.toFixed(2).padStart(7) : ''}${ratio > LIMIT ? '  deep' : ''}`
      : `  ${answer.why}`;
    lines.push(entry.top.padEnd(16) + said);
    console.log(lines[lines.length - 1]);
  }
  writeFileSync(join(out, 'timing.txt'), `${lines.join('\n')}\n`);
  writeFileSync(join(out, 'timing.json'), `${JSON.stringify({ yosys: version, p: constants.P, limit: LIMIT, stage, modules: rows }, null, 2)}\n`);
}

if (isMainThread) await main();
else parentPort.postMessage(await depthOf(workerData));
