// A real worker of the built project. Activities that call control planes and agents use the stress test's in-memory
// ones. Activities that use Temporal and the record store are real.
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';

import { createActivities } from '../../../dist/activities/createActivities.js';
import { PLACE_RULES } from '../../../dist/domain/promotion/places.js';
import { runWorker } from '../../../dist/worker.js';

const [address, taskQueue, worlds, names] = process.argv.slice(2);
Runtime.install({ logger: new DefaultLogger('ERROR') });

/** Forwards an activity to the control planes, which complete the call even if this process is killed. */
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

const carried = Object.fromEntries(names.split(',').map((name) => [name, carry(name)]));
await runWorker({
  connection: await NativeConnection.connect({ address }),
  namespace: 'default',
  taskQueue,
  identity: `stress-${process.pid}`,
  outside: (shuttingDown) => {
    const { activities, close } = createActivities(shuttingDown, PLACE_RULES, taskQueue);
    return { activities: { ...activities, ...carried }, close };
  },
  onReady: () => process.send('ready'),
});
