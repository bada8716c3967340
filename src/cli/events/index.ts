import type { z } from 'zod';

import * as anyCommand from './anyCommand.ts';
import * as demo from './demo.ts';
import * as history from './history.ts';
import * as machine from './machine.ts';
import type { Plain } from './mirror.ts';
import * as plan from './plan.ts';
import * as platform from './platform.ts';
import * as promotion from './promotion.ts';
import * as rehearse from './rehearse.ts';
import * as release from './release.ts';
import * as source from './source.ts';
import * as status from './status.ts';
import * as verdicts from './verdicts.ts';

const FAMILIES = [
  anyCommand,
  machine,
  platform,
  release,
  history,
  source,
  status,
  promotion,
  plan,
  rehearse,
  verdicts,
  demo,
] as const;

type In<Family> = Family extends unknown ? Family[keyof Family] : never;

/** The schema of one line. */
export type EventSchema = In<(typeof FAMILIES)[number]>;

/** A line that a command prints with `--json`, as it is handed to the output, which adds the version. */
export type JsonEvent = Plain<z.input<EventSchema>>;

/** The lines of one event. */
export type EventOf<Name extends JsonEvent['event']> = Extract<JsonEvent, { readonly event: Name }>;

/** The schemas of every line that a command prints with `--json`. Several may be of one event: then one of them fits. */
export const EVENTS: readonly EventSchema[] = FAMILIES.flatMap((family) =>
  Object.values<EventSchema>(family),
);
