import { randomUUID } from 'node:crypto';

import { type Client, WorkflowNotFoundError } from '@temporalio/client';

import type { ApprovalPolicy } from '../domain/intervention/intervention.ts';
import type { Said } from '../domain/rehearsal/injection.ts';
import type { Progress } from '../domain/release/release.ts';
import { INTERVENTION_SIGNALS } from '../messages/release.ts';
import type { Outcomes } from './outcomes.ts';

/** The people of a rehearsal: they say what was injected to whatever waits for approval, or else approve at once. */
export class People {
  readonly #client: Client;
  readonly #outcomes: Outcomes;
  readonly #at: (moment: number, work: () => Promise<void>) => Promise<void>;
  /** The waits that were answered. */
  readonly #answered = new Set<string>();

  /** @param at - does something at a moment, while the time is held. */
  constructor(
    client: Client,
    outcomes: Outcomes,
    at: (moment: number, work: () => Promise<void>) => Promise<void>,
  ) {
    this.#client = client;
    this.#outcomes = outcomes;
    this.#at = at;
  }

  /** Looks whether a workflow waits for approval, and lets them say what they say. */
  async look(workflowId: string, { waiting }: Progress, policy: ApprovalPolicy | undefined): Promise<void> {
    if (waiting?.for !== 'approval' || policy === undefined) return;
    const wait = `${workflowId} ${waiting.since}`;
    if (this.#answered.has(wait)) return;
    this.#answered.add(wait);
    const injected = this.#outcomes.all('approval');
    const all: readonly Speech[] =
      injected.length === 0
        ? saidByItself(policy).map((says) => ({ says, met: () => undefined }))
        : injected.map((injection) => ({ ...injection, met: () => this.#outcomes.met(injection) }));
    for (const { says, met } of all) {
      if (says === null) met();
      else if (says.afterMs === 0) await this.#say(workflowId, says, met);
      else await this.#at(Date.parse(waiting.since) + says.afterMs, () => this.#say(workflowId, says, met));
    }
  }

  /** By signal: what it refuses, it records. Where it has ended there is nobody to say anything to. */
  async #say(workflowId: string, { who, what }: Said, met: () => void): Promise<void> {
    const message = { requestId: randomUUID(), who, from: 'rehearsal' };
    try {
      await this.#client.workflow.getHandle(workflowId).signal(INTERVENTION_SIGNALS[what], message);
      met();
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
}

/** What somebody says, or nobody does. */
interface Speech {
  readonly says: Said | null;
  readonly met: () => void;
}

function saidByItself({ required, approvers = [] }: ApprovalPolicy): readonly Said[] {
  return Array.from({ length: required }, (_, index) => ({
    who: approvers[index] ?? `approver ${index + 1}`,
    what: 'approve',
    afterMs: 0,
  }));
}
