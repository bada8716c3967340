import { type ErrorCode, SlipwayError } from '../domain/errors.ts';
import type { Config } from './configSchema.ts';
import { meantWord } from './nearestWord.ts';

const PARTS = {
  targets: { what: 'target', unknown: 'SLIPWAY_TARGET_UNKNOWN' },
  promotions: { what: 'promotion', unknown: 'SLIPWAY_PROMOTION_UNKNOWN' },
  previews: { what: 'preview', unknown: 'SLIPWAY_PREVIEW_UNKNOWN' },
  hooks: { what: 'hook', unknown: 'SLIPWAY_HOOK_UNKNOWN' },
} as const satisfies Partial<Record<keyof Config, { what: string; unknown: ErrorCode }>>;

/**
 * Chooses an entry of the file by its name, which may be left out if there is only one.
 * @returns its name, and the entry.
 * @throws SLIPWAY_…_UNKNOWN; SLIPWAY_USAGE if the name is left out and there are several.
 */
export function chooseEntry<Part extends keyof typeof PARTS, Entry extends Config[Part][string]>(
  config: Readonly<Record<Part, Readonly<Record<string, Entry>>>>,
  part: Part,
  wanted: string | undefined,
): readonly [name: string, entry: Entry] {
  const entries: Readonly<Record<string, Entry>> = config[part];
  // Before all names are listed, because `lint` calls this for each target.
  const named = wanted !== undefined && Object.hasOwn(entries, wanted) ? entries[wanted] : undefined;
  if (wanted !== undefined && named !== undefined) return [wanted, named];
  const { what, unknown } = PARTS[part];
  const [only, ...others] = Object.entries(entries);
  if (only === undefined) {
    const hint = `docs/${part}.md describes how to write one`;
    throw new SlipwayError(unknown, `slipway.yaml has no ${part}`, { hint });
  }
  const names = Object.keys(entries);
  if (wanted !== undefined) {
    const hint = meantWord(wanted, names, 'it has');
    throw new SlipwayError(unknown, `slipway.yaml has no ${what} "${wanted}"`, { hint });
  }
  if (others.length === 0) return only;
  const hint = `name one${part === 'previews' ? ' with --name' : ' of'}: ${names.join(', ')}`;
  throw new SlipwayError('SLIPWAY_USAGE', `slipway.yaml has several ${part}`, { hint });
}
