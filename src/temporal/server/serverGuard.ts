// Runs one command, and ends it when the process at the other end of stdin ends in any way: a server must not outlive
// the `slipway dev` that started it.
//
//   node serverGuard.js COMMAND ARGUMENT…
import { spawn } from 'node:child_process';

const GRACE_MS = 8_000;

const [command = '', ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });

let ending = false;
const end = (): void => {
  if (ending) return;
  ending = true;
  child.kill('SIGTERM');
  setTimeout(() => child.kill('SIGKILL'), GRACE_MS).unref();
};
process.on('SIGTERM', end);
process.on('SIGINT', end);
process.stdin.on('end', end).on('error', end).on('close', end).resume();

child.once('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(127);
});
child.once('exit', (code) => process.exit(code ?? (ending ? 0 : 1)));
