import { type Asked, type Injection, isTime, type When } from '../domain/rehearsal/injection.ts';

/** What is asked of the outcomes: all but what is the same for the whole rehearsal. */
export type AskedNow = Omit<Asked, 'startedAt' | 'timeZone'>;

/** What is let happen, and what of it has. */
export class Outcomes {
  readonly #injections: readonly Injection[];
  readonly #met = new Set<Injection>();
  #beginning: Pick<Asked, 'startedAt' | 'timeZone'>;

  /** @param timeZone - that of clocks. */
  constructor(injections: readonly Injection[], timeZone: string) {
    this.#injections = injections;
    this.#beginning = { startedAt: 0, timeZone };
  }

  /** From when on durations count: milliseconds since 1970. */
  begin(startedAt: number): void {
    this.#beginning = { ...this.#beginning, startedAt };
  }

  /** What times are counted from. */
  get beginning(): Pick<Asked, 'startedAt' | 'timeZone'> {
    return this.#beginning;
  }

  /** All injections of a kind, in their order. */
  all<Kind extends Injection['kind']>(kind: Kind): readonly Extract<Injection, { kind: Kind }>[] {
    return this.#injections.filter(
      (injection): injection is Extract<Injection, { kind: Kind }> => injection.kind === kind,
    );
  }

  /** Lets one happen: the first of a kind whose time it is and that is about this. It has happened then. */
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

  /** Those that have not happened: nothing came to where they would have. */
  get unmet(): readonly Injection[] {
    return this.#injections.filter((injection) => !this.#met.has(injection));
  }
}
