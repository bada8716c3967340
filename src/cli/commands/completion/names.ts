import { parse } from 'yaml';

import { findConfig } from '../../../config/findConfig.ts';

type NamedPart = 'targets' | 'promotions';

/** The names in `slipway.yaml`, for shell completion. Empty if there is no file, or no YAML. */
export async function namesInConfig(part: NamedPart, path: string | undefined): Promise<readonly string[]> {
  try {
    const { text } = await findConfig(path, process.cwd());
    const file = parse(text, { logLevel: 'silent' }) as Partial<Record<NamedPart, object>> | null;
    return Object.keys(file?.[part] ?? {});
  } catch {
    // An error must not appear in the line being typed; `slipway lint` prints it.
    return [];
  }
}
