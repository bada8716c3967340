import { getExternalWorkflowHandle, setCurrentDetails } from '@temporalio/workflow';

import { describeUndelivered, noticeTitle } from '../../domain/notify/noticeText.ts';
import type { ReceiverSpec } from '../../domain/notify/notice.ts';
import type { Undelivered } from '../../domain/target/targetState.ts';
import { undeliveredSignal } from '../../messages/target.ts';
import type { NoticeInput, NoticeResult } from '../../messages/workflowTypes.ts';
import { explain } from '../failure.ts';
import { now } from '../journal.ts';
import { activitiesOf } from '../steps.ts';

/**
 * Sends one notice to all its receivers concurrently, each within the limits of the step `notify`. It is a workflow
 * of its own, so that receivers cannot delay the workflow that sends it. Failed deliveries are reported to the target
 * as warnings.
 */
export async function notice({ notice, receivers, steps, reportTo }: NoticeInput): Promise<NoticeResult> {
  const delivered: { receiver: string; detail: string }[] = [];
  const undelivered: Undelivered[] = [];
  const show = (): void =>
    setCurrentDetails(
      [
        `**${noticeTitle(notice)}**`,
        '',
        ...delivered.map(({ receiver, detail }) => `- ${receiver}: ${detail}`),
        ...undelivered.map((warning) => `- ${describeUndelivered(warning)}`),
      ].join('\n'),
    );
  const send = async (receiver: ReceiverSpec): Promise<void> => {
    const { name } = receiver;
    try {
      const activities = activitiesOf('notify', steps, `${notice.event} to ${name}`);
      const { detail } = await activities.sendNotice({ receiver, notice });
      delivered.push({ receiver: name, detail });
    } catch (error) {
      const reason = explain(error).message;
      undelivered.push({ at: now(), receiver: name, event: notice.event, name: notice.name, reason });
    }
    show();
  };
  await Promise.all(receivers.map(send));
  const reported = undelivered.length === 0 || (await report(reportTo, undelivered));
  return { delivered, undelivered, reported };
}

async function report(targetId: string, undelivered: readonly Undelivered[]): Promise<boolean> {
  try {
    const target = getExternalWorkflowHandle(targetId);
    for (const warning of undelivered) await target.signal(undeliveredSignal, warning);
    return true;
  } catch {
    // The target no longer exists. The result says that it was not warned.
    return false;
  }
}
