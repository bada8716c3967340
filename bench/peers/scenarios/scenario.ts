import type { StandIn } from '../../standIn.ts';
import type { HostedPeer } from '../hosted.ts';
import type { Measured } from '../measured.ts';

export interface Stage {
  /** The measured system, started for this scenario only. */
  readonly system: HostedPeer;
  /** The bare script, measured alternately. The same as `system` if that is the bare script. */
  readonly bare: HostedPeer;
  readonly standIn: StandIn;
  readonly count: number;
}

export type Findings = Omit<Measured, 'system' | 'scenario'>;

/** One experiment, done with each system. */
export interface Scenario {
  readonly name: string;
  /** How many times by default; `--count` overrides it. */
  readonly count: number;
  /** Whether it needs a feature that the bare script does not have. */
  readonly needsEngine?: boolean;
  readonly measure: (stage: Stage) => Promise<Findings>;
}
