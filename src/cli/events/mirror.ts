import type { z } from 'zod';

/** A type with everything in it read only, written out: two that say the same are then the same to the compiler. */
export type Plain<T> = unknown extends T ? T : { readonly [Key in keyof T]: Plain<T[Key]> };

/** Whether two types are the same: a type that depends on one is then the same as if it depended on the other. */
type Same<One, Other> =
  (<T>() => T extends Plain<One> ? T : never) extends <T>() => T extends Plain<Other> ? T : never
    ? true
    : false;

/** What the compiler shows where the two differ. */
interface Differs<Schema, Type> {
  readonly schema: Plain<Schema>;
  readonly type: Plain<Type>;
}

/**
 * Holds a schema to a type of the domain: they are the same, field by field, or it does not compile.
 *
 * `mirrorOf<Actor>()(z.strictObject({ … }))`
 */
export function mirrorOf<Type>() {
  return <Schema extends z.ZodType>(
    schema: Schema & (Same<z.output<Schema>, Type> extends true ? unknown : Differs<z.output<Schema>, Type>),
  ): Schema => schema;
}
