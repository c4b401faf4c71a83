// The RTL as Yosys reads it, and Yosys itself, for area.mjs and timing.mjs.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

export const packages = ['tegula_pkg.sv', 'fp_pkg.sv', 'fabric_pkg.sv', 'mx_pkg.sv'];

// Sources by name, with the generated package, in which `sizes` replaces numbers; and its numbers.
export function readRtl(rtl, packageFile, sizes = {}) {
  const sources = { 'tegula_pkg.sv': readFileSync(packageFile, 'utf8') };
  for (const [name, value] of Object.entries(sizes))
    sources['tegula_pkg.sv'] = sources['tegula_pkg.sv'].replace(new RegExp(`( ${name} = )\\d+;`), `$1${value};`);
  for (const folder of [rtl, join(rtl, 'area')])
    for (const name of readdirSync(folder))
      if (/\.svh?$/.test(name)) sources[name] = readFileSync(join(folder, name), 'utf8');
  // Yosys does not resolve one package's constants in another package, so they become numbers there.
  const constants = {};
  for (const [, name, value] of sources['tegula_pkg.sv'].matchAll(/^ *(?:localparam .* )?(\w+) = (\d+(?:'\w+)?)[,; ]/gm))
    constants[name] = value;
  for (const file of ['fabric_pkg.sv', 'mx_pkg.sv'])
    sources[file] = sources[file].replace(/tegula_pkg::(\w+)/g, (whole, name) => {
      if (!(name in constants)) throw new Error(`${file}: ${whole} is no number of tegula_pkg.sv`);
      return constants[name];
    });
  return { sources, constants };
}

// Parameters of the top module are set in its text.
export function withParameters(text, parameters) {
  for (const [name, value] of Object.entries(parameters)) {
    const declaration = new RegExp(`(parameter [^,\\n]*\\b${name}\\s*=\\s*)[^,\\n]*`);
    if (!declaration.test(text)) throw new Error(`there is no parameter ${name}`);
    text = text.replace(declaration, `$1${value}`);
  }
  return text;
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
      const written = await runYosys(options, { ...files, 'run.ys': script }, { stdout: keep, stderr: keep });
      if (/implicitly declared/.test(log)) throw new Error('a name was not understood');
      return { written, log };
    } catch (error) {
      throw new Error(`${log}Yosys failed: ${error.message}`);
    }
  }
  return { version, run };
}
