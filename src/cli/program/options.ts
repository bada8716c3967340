import { InvalidArgumentError, Option } from 'commander';

import { parseRetentionAge } from '../../domain/artifact/retention.ts';
import { AGE_MAX_MS, parseDuration } from '../../domain/duration.ts';

/** Parses a duration (`90s`, `5m`) into milliseconds. */
function duration(parse: (text: string) => number | undefined, expected: string): (text: string) => number {
  return (text) => {
    const milliseconds = parse(text);
    if (milliseconds !== undefined && milliseconds !== 0) return milliseconds;
    throw new InvalidArgumentError(`Expected a duration such as ${expected}.`);
  };
}

const durationOption = duration(parseDuration, '90s, 5m or 1h30m, 30 days at most');
export const expiryOption = duration(
  (text) => parseDuration(text, AGE_MAX_MS),
  '720h or 365d, 10 years at most',
);
export const retentionAgeOption = duration(parseRetentionAge, '30d or 12h, 1h at least');

/** Parses a whole number within bounds. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= least && number <= most) return number;
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
  };
}

export const percentageOption = wholeNumber(0, 100);
/** A port; 0: any free port. */
export const portOption = wholeNumber(0, 65_535);
export const numberOption = wholeNumber(1, 999_999);

export function isolationOption(): Option {
  return new Option(
    '--isolation <how>',
    'run builds and agents in containers, or as processes of the platform (default: containers if an engine answers and has the image)',
  )
    .env('SLIPWAY_ISOLATION')
    .choices(['container', 'process']);
}

export function metricsOption(): Option {
  return new Option('--metrics <host:port>', 'serve metrics for Prometheus there (default: off)').env(
    'SLIPWAY_METRICS_ADDRESS',
  );
}

const FOLLOW_FOR = '1h';

export function timeoutOption(followFor = FOLLOW_FOR): Option {
  return new Option('--timeout <duration>', 'stop following after this long: 90s, 5m, 1h30m')
    .argParser(durationOption)
    .default(durationOption(followFor), followFor);
}

export function homeOption(): Option {
  return new Option(
    '--home <dir>',
    'the folder for state (default: SLIPWAY_HOME, or .slipway beside slipway.yaml)',
  );
}

export function configOption(): Option {
  return new Option('--config <file>', 'the file (default: slipway.yaml, here or in a folder above)');
}

export function abortOnInterruptOption(what: 'release' | 'promotion'): Option {
  return new Option(
    '--abort-on-interrupt',
    `Ctrl-C and SIGTERM ask the ${what} to abort (default: it continues)`,
  );
}
