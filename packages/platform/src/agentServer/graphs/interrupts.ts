import { toWireJson } from '../runs/wireJson.ts';
import type { StateSnapshot } from './compiledGraph.ts';

/** JSON text: a thread's `interrupts`, by task. */
export function interruptsByTask(snapshot: StateSnapshot | undefined): string {
  const waiting = (snapshot?.tasks ?? []).filter((task) => (task.interrupts ?? []).length > 0);
  const byTask = Object.fromEntries(waiting.map((task) => [task.id, task.interrupts]));
  return toWireJson(byTask, { strict: false, root: 'interrupts' });
}
