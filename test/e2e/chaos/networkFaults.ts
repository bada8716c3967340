import { setTimeout as after } from 'node:timers/promises';

import type { Fault, FaultRule, ProxiedRequest } from '../faultProxy.ts';
import type { Random } from './random.ts';
import type { Tally } from './tally.ts';

/** The faults of a request, by the name under which they are counted. */
type FaultName =
  | 'latency'
  | 'reset before it was taken'
  | 'reset after it was taken'
  | '500'
  | '502'
  | '503'
  | '503 after it was carried out'
  | '429 with Retry-After'
  | 'sent twice'
  | 'late answer'
  | 'answers in another order'
  | 'lands late';

/** The share of requests with a fault. Reads and polls are frequent; requests that change the deployment are rare. */
const SHARE_OF_READS = 0.16;
const SHARE_OF_CHANGES = 0.4;
const LATENCY_MS = [50, 900] as const;
/** Longer than the timeouts of the stack's clients, so the answer comes after they have timed out. */
const LATE_MS = [1_500, 4_500] as const;
/** An overtaken answer is sent at the latest after this time. */
const OVERTAKEN_WITHIN_MS = 1_500;

const WEIGHTS: readonly (readonly [number, FaultName])[] = [
  [4, 'latency'],
  [3, 'reset before it was taken'],
  [3, 'reset after it was taken'],
  [1, '500'],
  [1, '502'],
  [2, '503'],
  [2, '503 after it was carried out'],
  [2, '429 with Retry-After'],
  [2, 'sent twice'],
  [2, 'late answer'],
  [2, 'answers in another order'],
  [2, 'lands late'],
];

/** Applies random faults of networks and busy servers to requests. */
export class NetworkFaults {
  readonly #random: Random;
  readonly #tally: Tally;
  readonly #ordinals = new Map<string, number>();
  #overtakes: (() => void)[] = [];
  #over = false;

  constructor(random: Random, tally: Tally) {
    this.#random = random;
    this.#tally = tally;
  }

  /** The rule for the proxy. */
  readonly rule: FaultRule = (request) => {
    this.#overtakes.splice(0).forEach((go) => go());
    if (this.#over) return undefined;
    const subject = this.#subject(request);
    const isRead = request.method === 'GET';
    if (!this.#random.chance(isRead ? SHARE_OF_READS : SHARE_OF_CHANGES, `${subject} whether`))
      return undefined;
    const name = this.#random.pick(WEIGHTS, `${subject} which`);
    this.#tally.add(name);
    return this.#fault(name, subject);
  };

  end(): void {
    this.#over = true;
  }

  /** The kind of a request, and how many of that kind came before it. */
  #subject({ method, path }: ProxiedRequest): string {
    const kind = `${method} ${path.replace(/\?.*$/, '').replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, ':id')}`;
    const ordinal = (this.#ordinals.get(kind) ?? 0) + 1;
    this.#ordinals.set(kind, ordinal);
    return `${kind} ${ordinal}`;
  }

  #fault(name: FaultName, subject: string): Fault {
    const lasting = ([low, high]: readonly [number, number]): Promise<void> =>
      after(this.#random.between(low, high, `${subject} how long`));
    switch (name) {
      case 'latency':
        return { kind: 'hold', until: lasting(LATENCY_MS) };
      case 'reset before it was taken':
        return { kind: 'drop' };
      case 'reset after it was taken':
        return { kind: 'lose_answer' };
      case '500':
      case '502':
      case '503':
        return { kind: 'answer', status: Number(name) };
      case '503 after it was carried out':
        return { kind: 'answer_instead', status: 503 };
      case '429 with Retry-After':
        return { kind: 'answer', status: 429, headers: { 'retry-after': '1' } };
      case 'sent twice':
        return { kind: 'twice' };
      case 'late answer':
        return { kind: 'hold_answer', until: lasting(LATE_MS) };
      case 'answers in another order':
        return { kind: 'hold_answer', until: Promise.race([this.#overtaken(), after(OVERTAKEN_WITHIN_MS)]) };
      case 'lands late':
        return { kind: 'land_late', until: lasting(LATE_MS) };
    }
  }

  /** Resolves once another request has arrived. */
  #overtaken(): Promise<void> {
    return new Promise((resolve) => this.#overtakes.push(resolve));
  }
}
