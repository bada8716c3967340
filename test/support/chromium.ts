import { existsSync } from 'node:fs';

import { type Browser, chromium } from 'playwright-core';

/** The usual paths, and the variable that overrides them. */
const PLACES = [
  process.env['SLIPWAY_TEST_CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** The system's Chromium; `undefined` if there is none: tests that need it are skipped. */
export const CHROMIUM = PLACES.find((path) => existsSync(path));

export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-sync'],
  });
}
