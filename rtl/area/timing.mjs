// How deep the logic between registers is: node timing.mjs YOSYS RTL PACKAGE OUT [MODULE...]
//   YOSYS, RTL, PACKAGE, OUT: as for area.mjs; writes timing.txt and timing.json   MODULE: rows, all without one
// A module's depth is that of its and-inverter graph (Yosys's alumacc and techmap, then ABC: balance, and twice the delay-optimal
// balancing of `if -g`): the longest path from a register, a memory's output or a port to a register, a memory's input or a port.
// Modules are flat, with all that is in them but for what a row's `boxes` leave out, as it has a row of its own.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { fileURLToPath } from 'node:url';
import { openYosys, readModule, readRtl } from './yosys.mjs';

const MINUTES = 40; // for one module, after which it is left out
const LIMIT = 1.3; // of the multiply-add's stage

// Modules, with parameters that differ from the module's (`latency`: that of the array, `line`: positions of a row), what is
// left out of them, and smaller sizes of the array where many of a kind stand beside each other: elements of a flit are
// converted alike, and a doubling of P is a stage more of the shifter behind, two levels; counters count alike, and a doubling
// of them is a level more of the tree that names one. `without`: instances that are alike another, which stays. `mapped`: a
// memory that is read without a clock, as registers and multiplexers, two levels for a doubling. `name`: of a row for paths
// across modules. `large`: equal cells are left to ABC to merge, as Yosys merges chains of them one by one.
const list = [
  { top: 'pe', latency: true },
  { top: 'vx_alu', latency: true },
  { top: 'vx', large: true, without: Array.from({ length: 63 }, (_, lane) => `gen_lane?${lane + 1}?.u_alu`) },
  { top: 'vx_control' },
  { top: 'mx_control' },
  { top: 'mx_transposer' },
  { top: 'mx_collect' },
  { top: 'mx_write' },
  { top: 'sequencer', large: true, sizes: { QueueDepth: 16 }, mapped: '*queue_q*' },
  { top: 'row_operand' },
  { top: 'tx' },
  { top: 'scratchpad' },
  { top: 'post_fifo' },
  { top: 'post_source' },
  { top: 'post_arbiter' },
  { top: 'post_lane', line: true },
  { top: 'lane_arbiter', line: true },
  { top: 'lane', line: true },
  { top: 'section_control' },
  { top: 'control_line' },
  { top: 'control_stop' },
  { top: 'semaphores', sizes: { Semaphores: 16 } },
  { top: 'agcu_start' },
  { top: 'agcu_index' },
  { top: 'agcu_convert', sizes: { P: 2, FlitBits: 64 } },
  { top: 'agcu_load', sizes: { P: 2, FlitBits: 64 } },
  { top: 'agcu_store' },
  { top: 'agcu_piece' },
  { top: 'agcu_walk' },
  { top: 'agcu_places' },
  { top: 'agcu_port' },
  { top: 'agcu_context', boxes: ['sequencer', 'agcu_places'] },
  { top: 'agcu_jobs', boxes: ['agcu_context'] },
  {
    name: 'tile', // around its units: queues, semaphores, posts, tx
    top: 'tile',
    large: true,
    sizes: { P: 2, FlitBits: 64, Semaphores: 16, QueueDepth: 8 },
    boxes: ['mx', 'vx', 'scratchpad'],
    mapped: '*queue_q*',
  },
  {
    name: 'bank to PE', // what the array's operands pass: banks, ports, transposer, edges
    top: 'tile',
    large: true,
    sizes: { P: 2, FlitBits: 64 },
    boxes: ['vx', 'tile_sequencers', 'tile_posts', 'tx', 'mx_control', 'mx_write', 'scratchpad_bank', 'acc_mem'],
  },
  {
    name: 'issue of mx', // from its sequencer, through its control, and back
    top: 'tile',
    large: true,
    sizes: { P: 2, FlitBits: 64, Semaphores: 16, QueueDepth: 8 },
    boxes: ['vx', 'tx', 'scratchpad', 'mx_array', 'mx_collect', 'mx_transposer', 'acc_mem'],
    mapped: '*u_mx_sequencer*queue_q*',
  },
  {
    name: 'issue of vx',
    top: 'tile',
    large: true,
    sizes: { P: 2, FlitBits: 64, QueueDepth: 8 },
    boxes: ['mx', 'tx', 'scratchpad', 'vx_alu'],
    mapped: '*u_vx_sequencer*queue_q*',
  },
  {
    name: 'agcu', // between its parts: contexts, port, loads, stores, posts
    top: 'agcu',
    large: true,
    sizes: { P: 2, FlitBits: 64, Semaphores: 16, QueueDepth: 8 },
    mapped: '*queue_q*',
  },
  {
    name: 'endpoints and lanes', // of one row of an array, its tiles without units
    top: 'chip',
    large: true,
    sizes: { P: 2, FlitBits: 64, Rows: 1, Tiles: 4, Agcus: 5, Endpoints: 9, Units: 22, AgcuContexts: 2, Semaphores: 16, QueueDepth: 8 },
    boxes: ['mx', 'vx', 'scratchpad', 'tile_sequencers', 'agcu_jobs', 'agcu_port', 'agcu_store'],
  },
];

async function depthOf({ entry, yosysFolder, rtl, packageFile }) {
  const yosys = await openYosys(yosysFolder);
  const { sources, constants } = readRtl(rtl, packageFile, entry.sizes);
  const parameters = {};
  if (entry.latency) parameters.Latency = constants.FmaLatency;
  if (entry.line) parameters.N = Number(constants.Cols) + 1;
  const opt = entry.large ? 'opt_expr\nopt_clean' : 'opt -fast';
  const { log } = await yosys.run(
    sources,
    // Registers of one kind, resets and enables before them: ABC sees each kind's logic apart.
    `${readModule(sources, entry.top, parameters, entry.boxes, entry.without)}
     ${opt}
     wreduce
     alumacc
     ${opt}
     ${entry.large ? 'memory_dff\nmemory_collect' : 'memory -nomap'}
     ${entry.mapped ? `memory_map ${entry.mapped}` : ''}
     opt_clean
     techmap
     ${opt}
     async2sync
     dffunmap
     simplemap
     opt_clean
     abc -g AND -script +strash;balance;if,-g,-K,6;strash;balance;if,-g,-K,6;strash;balance;print_stats
`,
    false,
  );
  const found = [...log.matchAll(/and =\s*(\d+)\s+lev =\s*(\d+)/g)].map((one) => ({ gates: Number(one[1]), levels: Number(one[2]) }));
  if (!found.length) throw new Error('ABC did not say how deep');
  return found.reduce((a, b) => (b.levels > a.levels ? b : a));
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
  for (const entry of list.filter((one) => !only.length || only.includes(one.name ?? one.top))) {
    const answer = await measure({ entry, yosysFolder, rtl, packageFile });
    if (entry.top === 'pe') stage = answer.levels ?? 0;
    const ratio = answer.levels && stage ? answer.levels / stage : null;
    rows.push({ module: entry.name ?? entry.top, ...answer, ratio });
    const said = answer.levels
      ? `${String(answer.levels).padStart(7)}${String(answer.gates).padStart(9)}${ratio ? ratio.toFixed(2).padStart(7) : ''}${ratio > LIMIT ? '  deep' : ''}`
      : `  ${answer.why}`;
    lines.push((entry.name ?? entry.top).padEnd(16) + said);
    console.log(lines[lines.length - 1]);
  }
  writeFileSync(join(out, 'timing.txt'), `${lines.join('\n')}\n`);
  writeFileSync(join(out, 'timing.json'), `${JSON.stringify({ yosys: version, p: constants.P, limit: LIMIT, stage, modules: rows }, null, 2)}\n`);
}

if (isMainThread) await main();
else parentPort.postMessage(await depthOf(workerData));
