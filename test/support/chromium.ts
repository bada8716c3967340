import { existsSync } from 'node:fs';

import { type Browser, chromium } from 'playwright-core';

/** Where systems keep it, and what says it elsewhere. */
const PLACES = [
  process.env['SLIPWAY_TEST_CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** The system's own Chromium; `undefined` where there is none: what needs one is skipped there. */
export const CHROMIUM = PLACES.find((path) => existsSync(path));

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  });
}
