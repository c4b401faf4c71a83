// node record.mjs EXPORTED_DIR CASES_DIR
// Runs the models that test_frontend_recorded wrote (TEGULA_RECORD_EXPORT=EXPORTED_DIR) in ONNX Runtime and writes the outputs
// behind the "---" of each case. Needs onnxruntime-node in the current folder:
//   npm install onnxruntime-node@1.30.0 --ignore-scripts
import { createRequire } from 'node:module';
import fs from 'node:fs';
import path from 'node:path';

const ort = createRequire(process.cwd() + '/')('onnxruntime-node');
const [exported, cases] = process.argv.slice(2);

function readNpy(file) {
  const bytes = fs.readFileSync(file);
  const length = bytes.readUInt16LE(8);
  const shape = /'shape': \(([^)]*)\)/.exec(bytes.toString('latin1', 10, 10 + length))[1];
  const dims = shape.split(',').filter((d) => d.trim()).map(Number);
  const data = bytes.buffer.slice(bytes.byteOffset + 10 + length, bytes.byteOffset + bytes.length);
  const descr = /'descr': '<(..)'/.exec(bytes.toString('latin1', 10, 10 + length))[1];
  if (descr === 'i8') return new ort.Tensor('int64', new BigInt64Array(data), dims);
  if (descr === 'i4') return new ort.Tensor('int32', new Int32Array(data), dims);
  return new ort.Tensor('float32', new Float32Array(data), dims);
}

for (const file of fs.readdirSync(cases).filter((f) => f.endsWith('.txt')).sort()) {
  const name = file.slice(0, -4);
  const session = await ort.InferenceSession.create(path.join(exported, name + '.onnx'), {
    graphOptimizationLevel: 'disabled', logSeverityLevel: 4 });
  const feeds = {};
  for (const input of session.inputNames) feeds[input] = readNpy(path.join(exported, `${name}.${input}.npy`));
  const results = await session.run(feeds);
  const lines = session.outputNames.map((o) => Array.from(results[o].data, (x) => String(x)).join(' '));
  const text = fs.readFileSync(path.join(cases, file), 'utf8').split('---\n')[0];
  fs.writeFileSync(path.join(cases, file), text + '---\n' + lines.join('\n') + '\n');
}
