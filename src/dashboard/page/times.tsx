import { formatDuration } from '../../domain/duration.ts';

const FORMAT = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
});
const CLOCK = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZone: 'UTC',
});

/** An instant. The script adds how long ago it was. `at`: ISO 8601. */
export function Moment({ at }: { readonly at: string }) {
  return (
    <time datetime={at} data-tells="ago">
      {momentText(at)}
    </time>
  );
}

export function momentText(at: string): string {
  return `${FORMAT.format(Date.parse(at))} UTC`;
}

/** How long something has lasted. The script keeps counting. `since`: ISO 8601. */
export function Elapsed({ since }: { readonly since: string }) {
  return (
    <time datetime={since} data-tells="elapsed">
      {`since ${CLOCK.format(Date.parse(since))} UTC`}
    </time>
  );
}

/** When something ends. The script shows how much time is left. `at`: ISO 8601. */
export function Until({ at }: { readonly at: string }) {
  return (
    <time datetime={at} data-tells="left">
      {`until ${momentText(at)}`}
    </time>
  );
}

/** The time of day, for a row among others of the same day. */
export function Clock({ at }: { readonly at: string }) {
  return <time datetime={at}>{CLOCK.format(Date.parse(at))}</time>;
}

export function durationText(milliseconds: number): string {
  return formatDuration(Math.max(milliseconds, 0));
}
