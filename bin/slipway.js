#!/usr/bin/env node
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  process.stderr.write(`slipway needs Node 20.19 or newer; this is ${process.versions.node}.\n`);
  process.exit(1);
}
const entry = fileURLToPath(new URL('../dist/command/main.cjs', import.meta.url));
if (!existsSync(entry)) {
  process.stderr.write('slipway is not built yet. Run: npm ci && npm run build\n');
  process.exit(1);
}
// Such a warning is about a dependency, such as gRPC's for a Temporal with an IP address and TLS.
process.noDeprecation = true;
// From Node 22.1 on: what V8 compiled is kept for the next start.
module.enableCompileCache?.();
module.createRequire(import.meta.url)(entry);
