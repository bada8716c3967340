// A real worker of the built project, whose activities are calls to the control planes in memory of the stress test.
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';

import { runWorker } from '../../../dist/worker.js';

const [address, taskQueue, worlds, names] = process.argv.slice(2);
Runtime.install({ logger: new DefaultLogger('ERROR') });

/** Carries an activity to the control planes, which take it also if this process is killed meanwhile. */
const carry = (activity) => async (input) => {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), 500);
  try {
    const { attempt, workflowExecution } = context.info;
    const response = await fetch(worlds, {
      method: 'POST',
      body: JSON.stringify({ activity, input, info: { attempt, workflowExecution } }),
    });
    const { result, failure } = await response.json();
    if (failure !== undefined) throw ApplicationFailure.create(failure);
    return result;
  } finally {
    clearInterval(beat);
  }
};

await runWorker({
  connection: await NativeConnection.connect({ address }),
  namespace: 'default',
  taskQueue,
  identity: `stress-${process.pid}`,
  outside: () => ({
    activities: Object.fromEntries(names.split(',').map((name) => [name, carry(name)])),
    close: () => Promise.resolve(),
  }),
  onReady: () => process.send('ready'),
});
