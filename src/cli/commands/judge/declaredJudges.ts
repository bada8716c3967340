import type { Config } from '../../../config/configSchema.ts';
import type { PreviewJudge } from '../../../config/judgeSchema.ts';

interface DeclaredJudge {
  /** Of the promotion or the preview. */
  readonly name: string;
  /** The judge's place in `slipway.yaml`. */
  readonly path: readonly string[];
  /** That of a promotion has more settings. */
  readonly judge: PreviewJudge;
}

/** The judges of promotions and previews. */
export function declaredJudges({ promotions, previews }: Config): readonly DeclaredJudge[] {
  const judges = (
    part: string,
    declared: Readonly<Record<string, { readonly judge?: PreviewJudge | undefined }>>,
  ) =>
    Object.entries(declared).flatMap(([name, { judge }]) =>
      judge === undefined ? [] : [{ name, path: [part, name, 'judge'], judge }],
    );
  return [...judges('promotions', promotions), ...judges('previews', previews)];
}
