// The RTL as Yosys reads it, and Yosys itself, for area.mjs and timing.mjs.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const packages = ['tegula_pkg.sv', 'fp_pkg.sv', 'fabric_pkg.sv', 'mx_pkg.sv'];

// Sources by name, with the generated package, in which `sizes` replaces numbers; and its numbers.
export function readRtl(rtl, packageFile, sizes = {}) {
  const sources = { 'tegula_pkg.sv': readFileSync(packageFile, 'utf8') };
  for (const [name, value] of Object.entries(sizes))
    sources['tegula_pkg.sv'] = sources['tegula_pkg.sv'].replace(new RegExp(`( ${name} = )\\d+;`), `$1${value};`);
  for (const folder of [rtl, join(rtl, 'area')])
    for (const name of readdirSync(folder))
      if (/\.svh?$/.test(name)) sources[name] = readFileSync(join(folder, name), 'utf8');
  const constants = {};
  for (const [, name, value] of sources['tegula_pkg.sv'].matchAll(/^ *(?:localparam .* )?(\w+) = (\d+(?:'\w+)?)[,; ]/gm))
    constants[name] = value;
  return { sources, constants };
}

// The line of a script that reads module `top` of these sources, flat: `parameters` are the module's, `boxes` stay cells of their
// own, instances `without` are taken out. The frontend is slang; Yosys's own does not know arrays of structs.
export function readModule(sources, top, parameters = {}, boxes = [], without = []) {
  const modules = Object.keys(sources).filter((name) => name.endsWith('.sv') && !packages.includes(name));
  const options = [
    '--threads 1', // WebAssembly has no others here
    `--top ${top}`,
    ...Object.entries(parameters).map(([name, value]) => `-G ${name}=${value}`),
    ...boxes.map((name) => `--blackboxed-module ${name}`),
  ];
  if (without.length) options.push('--keep-hierarchy');
  const read = `read_slang ${options.join(' ')} ${[...packages, ...modules].join(' ')}`;
  if (!without.length) return read;
  return `${read}\ndelete ${without.map((name) => `${top}/${name}`).join(' ')}\nhierarchy -top ${top}\nflatten`;
}

// Yosys from the folder where npm put it: { version, run }. run(files, script, quiet) gives the files that it wrote and what it
// said; it throws what Yosys said where that failed.
export async function openYosys(folder) {
  const installed = join(folder, 'node_modules/@yowasp/yosys');
  const { runYosys } = await import(pathToFileURL(join(installed, 'gen/bundle.js')));
  const version = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')).version;
  async function run(files, script, quiet) {
    let log = '';
    const keep = (bytes) => {
      if (bytes) log += new TextDecoder().decode(bytes);
    };
    try {
      const options = [...(quiet ? ['-q'] : []), '-s', 'run.ys'];
      const written = await runYosys(options, { ...files, 'run.ys': script }, { stdout: keep, stderr: keep, fetchProgress: () => {} });
      return { written, log };
    } catch (error) {
      throw new Error(`${log}Yosys failed: ${error.message}`);
    }
  }
  return { version, run };
}
