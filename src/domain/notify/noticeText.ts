import { whoAndWhy } from '../actor.ts';
import { shortCommit } from '../artifact/artifact.ts';
import { exactText } from '../scalars.ts';
import type { Undelivered } from '../target/targetState.ts';
import type { Notice, SentNotice } from './notice.ts';

/** A notice's first line: `production: release-3 was rolled back`. */
export function noticeTitle({ event, target, kind, name }: Notice): string {
  const what = name ?? 'the target';
  switch (event) {
    case 'release_started':
    case 'rollback_started':
      return `${target}: ${what} has begun`;
    case 'release_waiting':
    case 'promotion_waiting':
      return `${target}: ${what} waits for a person`;
    case 'released':
      return `${target}: ${what} is released`;
    case 'rolled_back':
      return kind === 'rollback' ? `${target}: rolled back (${what})` : `${target}: ${what} was rolled back`;
    case 'failed':
      return `${target}: ${what} failed`;
    case 'rollback_failed':
    case 'errored':
      return `${target} NEEDS A PERSON: ${what} ended ${event.replace('_', ' ')}`;
    case 'aborted':
    case 'superseded':
    case 'rejected':
      return `${target}: ${what} was ${event}`;
    case 'hook_waiting':
      return `${target}: event ${what} waits for a person`;
    case 'hold_set':
      return `${target}: on hold`;
    case 'hold_released':
      return `${target}: the hold is released`;
    case 'promoted':
      return `${target}: promotion ${what} is done`;
    case 'promotion_stopped':
      return `${target}: promotion ${what} has stopped`;
  }
}

/** The longest reason in a message to people. The record has all of it. */
const REASON_MAX_CHARACTERS = 1_500;

/** A notice as a Slack message. It contains the instructions unchanged, so that they can be copied. */
export function slackText(notice: SentNotice): string {
  const { reason, code, instructions, artifact, commit, by, dashboardUrl } = notice;
  const short = commit === null ? null : `commit ${shortCommit(commit)}`;
  const about = [artifact, short, code, `by ${whoAndWhy(by)}`].filter((part) => part !== null).join(' · ');
  const lines = [
    `*${escaped(noticeTitle(notice))}*`,
    escaped(reason.slice(0, REASON_MAX_CHARACTERS)),
    escaped(about.slice(0, REASON_MAX_CHARACTERS)),
    ...(dashboardUrl === null ? [] : [`<${escaped(dashboardUrl)}|Open the page>`]),
    ...(instructions === null ? [] : [`\`\`\`\n${escaped(instructions).replaceAll('```', "'''")}\n\`\`\``]),
  ];
  return lines.join('\n');
}

/** GitHub's limit for descriptions. */
const DESCRIPTION_MAX_CHARACTERS = 140;

/** A notice in one short line. It begins with the release's name, which identifies the release's statuses. */
export function shortText({ name, reason }: Notice): string {
  const text = `${name ?? ''}: ${reason}`.replaceAll(/\s+/gu, ' ');
  // Half a character, such as that of an emoji, would be refused.
  const characters = Array.from(text);
  return characters.length <= DESCRIPTION_MAX_CHARACTERS
    ? text
    : `${characters.slice(0, DESCRIPTION_MAX_CHARACTERS - 1).join('')}…`;
}

/** Escapes Slack's three special characters. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

export function describeUndelivered({ receiver, event, name, at, reason }: Undelivered): string {
  const what = name === null ? event : `${event} of ${name}`;
  return `"${receiver}" could not be notified of ${what}; Slipway gave up at ${exactText(at)}: ${reason}`;
}
