// A platform in its own process, from the sources: `tsx platformProcess.ts HOME`. Prints one JSON line
// when it is ready, and ends when its stdin does.
import { pino } from 'pino';

import { startPlatform } from '../packages/platform/src/platform.ts';

const [home = ''] = process.argv.slice(2);
const platform = await startPlatform({
  home,
  port: 0,
  log: pino({ level: 'warn' }, pino.destination(2)),
  databaseUrl: process.env['DATABASE_URL'],
});
process.stdout.write(`${JSON.stringify({ url: platform.url, apiKey: platform.apiKey, pid: process.pid })}\n`);
process.stdin.resume().once('end', () => void platform.close());
