import { parse } from 'yaml';

import { findConfig } from '../../../config/findConfig.ts';

/** What of `slipway.yaml` is completed. */
type NamedPart = 'targets' | 'promotions';

/**
 * The names that `slipway.yaml` gives its targets or promotions, for a shell that completes a line: none if
 * there is no such file, or it is no YAML. Nothing else in it need be right.
 */
export async function namesInConfig(part: NamedPart, path: string | undefined): Promise<readonly string[]> {
  try {
    const { text } = await findConfig(path, process.cwd());
    const file = parse(text, { logLevel: 'silent' }) as Partial<Record<NamedPart, object>> | null;
    return Object.keys(file?.[part] ?? {});
  } catch {
    // Errors are not printed into a line being typed: "slipway lint" prints them.
    return [];
  }
}
