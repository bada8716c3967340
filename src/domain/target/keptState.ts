import { EMPTY_TARGET, type TargetState } from './targetState.ts';

/** What a target keeps in its record store: what must not be lost, without what is long or of the moment. */
export type KeptState = Omit<
  TargetState,
  'queue' | 'rollbacks' | 'history' | 'ignored' | 'said' | 'undelivered'
>;

/** The part of a state that is kept. Fields that are added to the state later are kept, too. */
export function stateToKeep(state: TargetState): KeptState {
  const {
    queue: _,
    rollbacks: __,
    history: ___,
    ignored: ____,
    said: _____,
    undelivered: ______,
    ...kept
  } = state;
  return kept;
}

/** Whether a state has changed in what must not be lost. `kept`: as it was when it was written; `null`: never. */
export function isToBeKept(state: TargetState, kept: TargetState | null): boolean {
  if (kept === null) return true;
  return state.hold !== kept.hold || state.quarantined !== kept.quarantined || state.known !== kept.known;
}

/** A state that was kept, and when: ISO 8601. */
export interface Kept {
  readonly at: string;
  readonly state: TargetState;
}

/** The kept state that a record holds; `undefined` if it holds none. */
export function keptStateOf(record: unknown): Kept | undefined {
  const { at, state } = (record ?? {}) as Partial<Record<keyof Kept, unknown>>;
  if (typeof at !== 'string' || typeof state !== 'object' || state === null) return undefined;
  if (!('nextNumber' in state)) return undefined;
  return { at, state: { ...EMPTY_TARGET, ...(state as KeptState) } };
}
