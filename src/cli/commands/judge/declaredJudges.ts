import type { Config } from '../../../config/configSchema.ts';

/** The settings that judges of promotions and of previews share. */
type Judge = NonNullable<Config['previews'][string]['judge']>;

interface DeclaredJudge {
  /** Of the promotion or the preview. */
  readonly name: string;
  /** The judge's place in `slipway.yaml`. */
  readonly path: readonly string[];
  readonly judge: Judge;
}

/** The judges of promotions and previews. */
export function declaredJudges({ promotions, previews }: Config): readonly DeclaredJudge[] {
  const judges = (part: string, declared: Readonly<Record<string, { readonly judge?: Judge | undefined }>>) =>
    Object.entries(declared).flatMap(([name, { judge }]) =>
      judge === undefined ? [] : [{ name, path: [part, name, 'judge'], judge }],
    );
  return [...judges('promotions', promotions), ...judges('previews', previews)];
}
