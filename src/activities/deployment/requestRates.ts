import type { ServiceError } from '../../clients/serviceError.ts';

/** The interval between two requests to one control plane: 200 a second in total, however many releases wait. */
const APART_MS = 5;
/** How far a process that was busy may catch up at once on requests that it missed. */
const CATCH_UP_MS = 100;
/** How long to pause if a control plane cannot answer and sends no `Retry-After`. */
const REST_MS = 2_000;
const LONGEST_REST_MS = 300_000;

/** When this process may ask each control plane for the status of a revision, whatever happens to its machine's clock. */
export class RequestRates {
  readonly #free = new Map<string, number>();

  /**
   * Reserves the next request to a control plane.
   * @returns when it may be sent, by `performance.now()`.
   */
  reserve(controlPlane: string): number {
    const at = Math.max(this.#free.get(controlPlane) ?? 0, performance.now() - CATCH_UP_MS);
    this.#free.set(controlPlane, at + APART_MS);
    return at;
  }

  /** Pauses requests to a control plane that asks for it or cannot be reached. */
  rest(controlPlane: string, { code, retryAfterMs }: ServiceError): void {
    if (retryAfterMs === undefined && !UNAVAILABLE.has(code)) return;
    const until = performance.now() + Math.min(retryAfterMs ?? REST_MS, LONGEST_REST_MS);
    this.#free.set(controlPlane, Math.max(this.#free.get(controlPlane) ?? 0, until));
  }
}

const UNAVAILABLE: ReadonlySet<string> = new Set([
  'SLIPWAY_UNREACHABLE',
  'SLIPWAY_NO_ANSWER',
  'SLIPWAY_RATE_LIMITED',
]);
