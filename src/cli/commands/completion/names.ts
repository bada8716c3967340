import { parse } from 'yaml';

import { findConfig } from '../../../config/findConfig.ts';

type NamedPart = 'targets' | 'promotions';

/**
 * The names of targets or promotions in `slipway.yaml`, for shell completion. Empty if the file is missing or not YAML;
 * other errors in the file do not matter.
 */
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
