// A worker in a process of its own, which a test kills. It runs only workflows, so that activities stay with the
// test's worker.
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';

/** Leaves local tries to the test's worker. */
const leaveToServer = () => Promise.reject(new Error('not here'));
const [address, taskQueue, codePath] = process.argv.slice(2);
Runtime.install({ logger: new DefaultLogger('ERROR') });
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowBundle: { codePath },
  activities: { default: leaveToServer },
  enableNonLocalActivities: false,
  sinks: { slipwayMetrics: { measure: { fn: () => undefined, callDuringReplay: false } } },
  // Within this time after its death the test must have done what the next worker is to find, on a slow machine too.
  stickyQueueScheduleToStartTimeout: '10 seconds',
});
const running = worker.run();
process.send('ready');
await running;
