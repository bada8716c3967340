import { ConfigError } from '../../src/config/configError.ts';
import { parseConfig } from './parseConfig.ts';

/** The errors of a `slipway.yaml`, one on each line, with its place and its field. Empty if the file is valid. */
export function errorsIn(text: string): string {
  try {
    parseConfig(text, 'slipway.yaml', {});
    return '';
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.message;
  }
}
