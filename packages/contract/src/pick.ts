/** Some fields of a value. */
export function pick<T extends object, const Name extends keyof T>(
  from: T,
  ...names: readonly Name[]
): Pick<T, Name> {
  return Object.fromEntries(names.map((name) => [name, from[name]])) as Pick<T, Name>;
}
