import type { ThreadSearch } from '@slipway/contract/runApi/thread';
import type { ThreadRecord } from '../store/threadStore.ts';
import { selected, wireThread } from './wire.ts';

/** A thread as a search shows it: the fields that were asked for, and what was to be extracted of it. */
export function foundThread(
  thread: ThreadRecord,
  search: Pick<ThreadSearch, 'select' | 'extract'>,
): Record<string, unknown> {
  const whole = { ...wireThread(thread), state_updated_at: thread.updated_at.toISOString() };
  const shown = selected(whole, search.select);
  if (search.extract == null) return shown;
  const extracted = Object.entries(search.extract).map(([name, path]) => [name, valueAt(whole, path)]);
  return { ...shown, extracted: Object.fromEntries(extracted) as Record<string, unknown> };
}

/** What stands at a path like `values.messages[-1].content`; null where nothing does. */
function valueAt(root: unknown, path: string): unknown {
  const parts = path.replace(/^\$\.?/u, '').match(/[^.[\]]+|\[-?\d+\]/gu) ?? [];
  let value = root;
  for (const part of parts) {
    const index = /^\[(-?\d+)\]$/u.exec(part)?.[1];
    if (index !== undefined)
      value = Array.isArray(value) ? (value as unknown[]).at(Number(index)) : undefined;
    else if (typeof value === 'object' && value !== null && Object.hasOwn(value, part))
      value = (value as Record<string, unknown>)[part];
    else return null;
  }
  return value ?? null;
}
