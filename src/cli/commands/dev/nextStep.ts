import { CONFIG_FILE } from '../../../config/findConfig.ts';

/** Where `slipway dev` was started. */
export interface DevPlace {
  /** The folder of its state. */
  readonly home: string;
  /** Whether every other command that is started in the same folder has that home, too. */
  readonly usualHome: boolean;
  /** Whether `slipway.yaml` stands there, or in a folder above. */
  readonly hasConfig: boolean;
}

/** What to type next, in another terminal. */
export function nextStep({ home, usualHome, hasConfig }: DevPlace): readonly string[] {
  if (hasConfig && usualHome) {
    return ['Next, release in another terminal in this folder:', '  slipway release'];
  }
  const where = hasConfig ? 'this folder' : `an agent's folder ("slipway init" writes its ${CONFIG_FILE})`;
  return [`Next, release in another terminal in ${where}:`, `  SLIPWAY_HOME=${home} slipway release`];
}
