import { DefaultLogger, Runtime } from '@temporalio/worker';

/** Lets the worker of this process say nothing but what goes wrong: its lines would stand in the middle of a story. */
export function quietWorker(): void {
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: { logging: { filter: { core: 'ERROR', other: 'ERROR' } } },
  });
}
