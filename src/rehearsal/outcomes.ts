import { type Asked, type Injection, isTime, type When } from '../domain/rehearsal/injection.ts';

/** The context of an event, without what is the same for the whole rehearsal. */
export type AskedNow = Omit<Asked, 'startedAt' | 'timeZone'>;

/** The injections of a rehearsal, and which of them have happened. */
export class Outcomes {
  readonly #injections: readonly Injection[];
  readonly #met = new Set<Injection>();
  #beginning: Pick<Asked, 'startedAt' | 'timeZone'>;

  /** @param timeZone - the time zone of `clock` injections. */
  constructor(injections: readonly Injection[], timeZone: string) {
    this.#injections = injections;
    this.#beginning = { startedAt: 0, timeZone };
  }

  /** Sets the start of the rehearsal, from which durations count: milliseconds since 1970. */
  begin(startedAt: number): void {
    this.#beginning = { ...this.#beginning, startedAt };
  }

  get beginning(): Pick<Asked, 'startedAt' | 'timeZone'> {
    return this.#beginning;
  }

  all<Kind extends Injection['kind']>(kind: Kind): readonly Extract<Injection, { kind: Kind }>[] {
    return this.#injections.filter(
      (injection): injection is Extract<Injection, { kind: Kind }> => injection.kind === kind,
    );
  }

  /** The first injection of a kind that takes effect now and matches `isAbout`. It is marked as happened. */
  happens<Kind extends 'check' | 'control_plane' | 'judge' | 'build'>(
    kind: Kind,
    asked: AskedNow,
    isAbout: (injection: Extract<Injection, { kind: Kind }>) => boolean,
  ): Extract<Injection, { kind: Kind }> | undefined {
    const found = this.all(kind).find((injection) => {
      const { when } = injection as Extract<Injection, { when: When }>;
      const isOver = when.kind !== 'always' && when.once && this.#met.has(injection);
      return !isOver && isAbout(injection) && isTime(when, { ...asked, ...this.#beginning });
    });
    if (found !== undefined) this.met(found);
    return found;
  }

  met(injection: Injection): void {
    this.#met.add(injection);
  }

  /** The injections that have not happened, because nothing reached them. */
  get unmet(): readonly Injection[] {
    return this.#injections.filter((injection) => !this.#met.has(injection));
  }
}
