import type { CheckSections } from './checks.ts';
import type { MachineSections } from './machine.ts';
import type { PlanSections } from './plans.ts';
import type { PlatformSections } from './platform.ts';
import type { HookSections, PreviewSections, PromotionSections } from './promotions.ts';
import type { ReleaseSections } from './releases.ts';
import type { SourceSections } from './sources.ts';
import type { StatusSections } from './status.ts';

/**
 * Every event, by the sections of docs/json.md. The build makes the page and `docs/json-events.schema.json` from these types:
 * a section's docstring is its title and the text below its tables, and each of its fields is an event.
 */
type Sections = readonly [
  MachineSections,
  PlatformSections,
  ReleaseSections,
  SourceSections,
  StatusSections,
  PromotionSections,
  HookSections,
  PreviewSections,
  PlanSections,
  CheckSections,
];

type EventsOf<Section> = {
  readonly [Name in keyof Section]: { readonly event: Name } & Section[Name];
}[keyof Section];

type EventsIn<Part> = Part extends unknown
  ? { [Name in keyof Part]: EventsOf<Part[Name]> }[keyof Part]
  : never;

/** What a command prints as one line with `--json`, without the `schemaVersion` that the output adds. */
export type JsonEvent = EventsIn<Sections[number]>;

/** The events of one name. */
export type EventOf<Name extends JsonEvent['event']> = Extract<JsonEvent, { readonly event: Name }>;
