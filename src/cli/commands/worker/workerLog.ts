import { DefaultLogger, Runtime } from '@temporalio/worker';

/**
 * Lets the worker of this process say on stderr what it has to say, before anything else is done with it. By itself,
 * what is native in it writes to stdout, in the middle of what the command says there.
 *
 * @param level - what is worth a line. `INFO`: what native code warns of, too; `ERROR`: what goes wrong.
 */
export function logOnStderr(level: 'INFO' | 'ERROR'): void {
  const core = level === 'INFO' ? 'WARN' : 'ERROR';
  Runtime.install({
    logger: new DefaultLogger(level),
    telemetryOptions: { logging: { filter: { core, other: 'ERROR' }, forward: {} } },
  });
}
