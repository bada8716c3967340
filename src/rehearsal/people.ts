import { randomUUID } from 'node:crypto';

import { type Client, WorkflowNotFoundError } from '@temporalio/client';

import type { ApprovalPolicy } from '../domain/intervention/intervention.ts';
import type { Said } from '../domain/rehearsal/injection.ts';
import type { Progress } from '../domain/release/release.ts';
import { INTERVENTION_SIGNALS } from '../messages/release.ts';
import type { Outcomes } from './outcomes.ts';

/** Does something at a moment, with the time held. */
type AtMoment = (moment: number, work: () => Promise<void>) => Promise<void>;

/** The people of a rehearsal: they answer requests for approval as injected, or else approve at once. */
export class People {
  readonly #client: Client;
  readonly #outcomes: Outcomes;
  readonly #at: AtMoment;
  /** The waits that were answered. */
  readonly #answered = new Set<string>();

  constructor(client: Client, outcomes: Outcomes, at: AtMoment) {
    this.#client = client;
    this.#outcomes = outcomes;
    this.#at = at;
  }

  /** If a workflow waits for approval, gives the people's answers. */
  async look(workflowId: string, { waiting }: Progress, policy: ApprovalPolicy | undefined): Promise<void> {
    if (waiting?.for !== 'approval' || policy === undefined) return;
    const wait = `${workflowId} ${waiting.since}`;
    if (this.#answered.has(wait)) return;
    this.#answered.add(wait);
    const injected = this.#outcomes.all('approval');
    if (injected.length === 0) for (const said of approvals(policy)) await this.#say(workflowId, said);
    for (const injection of injected) {
      const { says } = injection;
      const say = async (): Promise<void> => {
        if (says === null || (await this.#say(workflowId, says))) this.#outcomes.met(injection);
      };
      if (says === null || says.afterMs === 0) await say();
      else await this.#at(Date.parse(waiting.since) + says.afterMs, say);
    }
  }

  /** Sends a signal; the workflow records it even if it is rejected. Returns `false` if the workflow has ended. */
  async #say(workflowId: string, { who, what }: Pick<Said, 'who' | 'what'>): Promise<boolean> {
    const message = { requestId: randomUUID(), who, from: 'rehearsal' };
    try {
      await this.#client.workflow.getHandle(workflowId).signal(INTERVENTION_SIGNALS[what], message);
      return true;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return false;
      throw error;
    }
  }
}

function approvals({ required, approvers = [] }: ApprovalPolicy) {
  return Array.from({ length: required }, (_, index) => {
    return { who: approvers[index] ?? `approver ${index + 1}`, what: 'approve' as const };
  });
}
