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
 * @throws SLIPWAY_…_UNKNOWN; SLIPWAY_USAGE if the name is left out and there are several.
 */
export function chooseName(config: Config, part: keyof typeof PARTS, wanted: string | undefined): string {
  // Before all names are listed, because `lint` calls this for each target.
  if (wanted !== undefined && Object.hasOwn(config[part], wanted)) return wanted;
  const { what, unknown } = PARTS[part];
  const names = Object.keys(config[part]);
  const [only, ...others] = names;
  if (only === undefined) {
    const hint = `docs/${part}.md describes how to write one`;
    throw new SlipwayError(unknown, `slipway.yaml has no ${part}`, { hint });
  }
  if (wanted !== undefined) {
    const hint = meantWord(wanted, names, 'it has');
    throw new SlipwayError(unknown, `slipway.yaml has no ${what} "${wanted}"`, { hint });
  }
  if (others.length === 0) return only;
  const hint = `name one${part === 'previews' ? ' with --name' : ' of'}: ${names.join(', ')}`;
  throw new SlipwayError('SLIPWAY_USAGE', `slipway.yaml has several ${part}`, { hint });
}
