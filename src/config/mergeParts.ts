import { isMap } from 'yaml';

import type { ConfigPart } from './configPart.ts';

/**
 * One configuration of what several files say, the right one first. What is named below a name is put together; a list
 * or a value is taken whole; and `null` takes away what the files after it say.
 *
 * @param raws - what stands in each file. `extends` is not in the result.
 */
export function mergeParts(raws: readonly unknown[]): unknown {
  const merged = raws.reduceRight((further, nearer) => mergeTwo(nearer, further));
  return isRecord(merged)
    ? Object.fromEntries(Object.entries(merged).filter(([name]) => name !== 'extends'))
    : merged;
}

/** The file that a field of the whole stands in; of one that is missing, the file that the part around it stands in. */
export function partOfField(
  parts: readonly [ConfigPart, ...ConfigPart[]],
  path: readonly PropertyKey[],
): ConfigPart {
  let saying: readonly ConfigPart[] = parts;
  for (let length = 1; length <= path.length; length += 1) {
    const at = path.slice(0, length);
    const having = saying.filter(({ document }) => document.hasIn(at));
    if (having.length === 0) break;
    // A list or a value stands for itself: what others say there counts no more.
    const whole = having.findIndex(({ document }) => !isMap(document.getIn(at, true)));
    saying = whole === -1 ? having : having.slice(0, Math.max(whole, 1));
  }
  return saying[0] ?? parts[0];
}

function mergeTwo(nearer: unknown, further: unknown): unknown {
  if (nearer === undefined) return further;
  if (!isRecord(nearer) || !isRecord(further)) return nearer;
  const names = new Set([...Object.keys(further), ...Object.keys(nearer)]);
  return Object.fromEntries(
    [...names]
      .filter((name) => !(nearer[name] === null && further[name] !== undefined))
      .map((name) => [name, mergeTwo(nearer[name], further[name])]),
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
