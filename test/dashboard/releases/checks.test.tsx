import { expect, it } from 'vitest';

import { renderText } from '../../../src/dashboard/page/layout.tsx';
import { Checks } from '../../../src/dashboard/releases/checks.tsx';
import type { CheckVerdict } from '../../../src/domain/release/release.ts';

it('the page shows at which place each part of an expectation looks', () => {
  const expectation = {
    path: 'city',
    anyOf: [{ equals: 'Berlin' }, { path: 'seats', equals: 2 }],
    not: { contains: 'Paris' },
  };
  const check = { name: 'books', assistant: 'desk', input: {}, expect: expectation, timeoutMs: 1_000 };
  const verdict = { check: 'books', passed: true, reasons: [], answer: 'yes', revisionId: 'r', runId: null };
  const page = renderText(
    <Checks verdicts={[verdict as unknown as CheckVerdict]} checks={[check]} answers={new Map()} />,
  );
  expect(page.replaceAll('&quot;', '"')).toContain(
    'the run ends in success; not (“city” contains “Paris”); (“city” equals "Berlin") or (“seats” equals 2)',
  );
});
