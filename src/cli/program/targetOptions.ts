import { Option } from 'commander';

import { durationOption } from './options.ts';

const FOLLOW_FOR = '1h';

/** `--timeout`: how long a release, or what releases, is followed. Default: an hour. */
export function timeoutOption(followFor = FOLLOW_FOR): Option {
  return new Option('--timeout <duration>', 'stop following after this long: 90s, 5m, 1h30m')
    .argParser(durationOption)
    .default(durationOption(followFor), followFor);
}

/** `--config`: which `slipway.yaml` names the targets. */
export function configOption(): Option {
  return new Option('--config <file>', 'the file (default: slipway.yaml, here or in a folder above)');
}

/** `--abort-on-interrupt`: what Ctrl-C and SIGTERM do to what is followed. */
export function abortOnInterruptOption(what: 'release' | 'promotion'): Option {
  return new Option(
    '--abort-on-interrupt',
    `Ctrl-C and SIGTERM ask the ${what} to abort (default: it continues)`,
  );
}
