import type { StandIn } from '../../standIn.ts';
import type { HostedPeer } from '../hosted.ts';
import type { Measured } from '../measured.ts';

/** What a scenario needs. */
export interface Stage {
  /** The system that is measured, started for this scenario alone. */
  readonly system: HostedPeer;
  /** The bare script, to be measured in turn. The same as `system` if that is the bare script. */
  readonly bare: HostedPeer;
  readonly standIn: StandIn;
  readonly count: number;
}

/** What a scenario has measured. */
export type Findings = Omit<Measured, 'system' | 'scenario'>;

/** One thing that is done with each system. */
export interface Scenario {
  readonly name: string;
  /** How many times, unless `--count` says otherwise. */
  readonly count: number;
  /** Whether something that the bare script cannot do is needed. */
  readonly needsEngine?: boolean;
  readonly measure: (stage: Stage) => Promise<Findings>;
}
