const COLLATOR = new Intl.Collator('en', { numeric: true });

/** Sorts names as people do: `team-2` comes before `team-10`. */
export function inNameOrder<T>(items: Iterable<T>, nameOf: (item: T) => string): readonly T[] {
  return [...items].sort((one, other) => COLLATOR.compare(nameOf(one), nameOf(other)));
}
