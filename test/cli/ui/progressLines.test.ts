import { stripVTControlCharacters } from 'node:util';

import { describe, expect, it } from 'vitest';

import { settledSteps, stepLine } from '../../../src/cli/ui/progressLines.ts';
import { fitLine, styleOf, wrapLine } from '../../../src/cli/ui/text.ts';
import { runningStep, sampleProgress, sampleStep, sampleVerdict } from './sampleProgress.ts';

const NOW = Date.parse('2026-11-21T12:01:05.000Z');
const SCREEN = { now: NOW, style: styleOf(false), columns: Infinity };

function line(...args: Parameters<typeof sampleStep>): string {
  return stepLine(sampleStep(...args), [], SCREEN).replace(/ +/g, ' ');
}

describe('a step as a line', () => {
  it('has its title, its duration, its attempts if there were several, and its result', () => {
    const detail = 'DEPLOYED';
    expect(line({ step: 'deployed', attempts: 3, detail })).toBe(' ✔ deployed 1.0s 3 attempts, DEPLOYED');
    expect(line({ step: 'deployed', attempts: 1, detail })).toBe(' ✔ deployed 1.0s DEPLOYED');
  });

  it('truncates a result to the terminal, but not an error', () => {
    const detail = 'revision 2c1477af-e877-4dc8-82e8-6f53e5cbb2c8 '.repeat(3).trim();
    const told = (status: 'done' | 'failed', columns = Infinity): string =>
      stepLine(sampleStep({ step: 'patch', status, detail }), [], { ...SCREEN, columns });
    expect(told('done', 80)).toHaveLength(80);
    expect(told('done', 80)).toMatch(/…$/);
    expect(told('done')).toContain(detail);
    expect(told('failed', 80)).toContain(detail);
  });

  it('counts two cells for a wide character of a title and a result', () => {
    const step = sampleStep({
      step: 'check',
      subject: '土曜日のフェリーの時刻🚢を知っていますか',
      detail: '船'.repeat(50),
    });
    expect(stepLine(step, [], { ...SCREEN, columns: 80 })).toBe(
      `  ✔ check 土曜日のフェリーの時刻🚢を知…     1.0s  answered "${'船'.repeat(9)}…`,
    );
  });

  it('has the elapsed time of a running step', () => {
    const text = stepLine(runningStep({ step: 'deployed' }), [], SCREEN);
    expect(text).toMatch(/^ {2}… deployed +1m05s$/);
  });

  it.each(['check', 'soak', 'baseline'] as const)('has the answer of a passed %s', (step) => {
    const passed = line({ step, subject: 'greets', detail: 'Hello,\nAda!' });
    expect(passed).toBe(` ✔ ${step} greets 1.0s answered "Hello, Ada!"`);
  });

  it('has a JSON answer unchanged', () => {
    const passed = line({ step: 'check', subject: 'asks', detail: '{"__interrupt__":[]}' });
    expect(passed).toBe(' ✔ check asks 1.0s answered {"__interrupt__":[]}');
  });

  it('has the reason of a failed check, without repeating its name', () => {
    const verdicts = [
      sampleVerdict({ passed: false, reasons: ['too slow', 'too short'] }),
      sampleVerdict({ reasons: ['it passed the second time'] }),
      sampleVerdict({ check: 'asks', passed: false, reasons: ['another check'] }),
    ];
    const step = sampleStep({
      step: 'check',
      subject: 'greets',
      status: 'failed',
      detail: 'check "greets": …',
    });
    expect(stepLine(step, verdicts, SCREEN)).toMatch(/✖ check greets +1\.0s {2}too slow; too short$/);
  });

  it('has the reason of a check without a verdict', () => {
    const failed = line({ step: 'check', subject: 'greets', status: 'failed', detail: 'no answer' });
    expect(failed).toBe(' ✖ check greets 1.0s no answer');
  });

  it('warns of a baseline that fails its checks, which does not fail the release', () => {
    expect(line({ step: 'baseline', subject: 'greets', status: 'failed', detail: 'no' })).toContain(
      '! baseline',
    );
  });

  it('truncates the id of a revision in the title, and keeps the columns', () => {
    const id = '2c1477af-e877-4dc8-82e8-6f53e5cbb2c8';
    const redeploy = stepLine(sampleStep({ step: 'redeploy', subject: id, restoring: true }), [], SCREEN);
    const patch = stepLine(sampleStep({ step: 'patch' }), [], SCREEN);
    expect(redeploy).toContain('restore: redeploy 2c1477af ');
    expect(redeploy.indexOf('1.0s')).toBe(patch.indexOf('1.0s'));
  });
});

describe('a line of a status', () => {
  const wrapped = (text: string): readonly string[] => wrapLine(text, 30, 11);

  it('wraps between words, into its column, whatever its colors', () => {
    const told = 'on hold since noon, because bo tests';
    const lines = ['  on hold since noon, because', '           bo tests'];
    expect(wrapped(`  ${told}`)).toEqual(lines);
    const colored = wrapped(`  ${styleOf(true).warn(told)}`);
    expect(colored.map((part) => stripVTControlCharacters(part))).toEqual(lines);
  });

  it('keeps an address whole, beside its label', () => {
    const address = `http://127.0.0.1:4701/targets/${'x'.repeat(30)}`;
    expect(wrapped(`  Temporal ${address}`)).toEqual([`  Temporal ${address}`]);
    expect(wrapped(`  quarantine ${address}, by bo`)).toEqual([
      '  quarantine',
      `           ${address},`,
      '           by bo',
    ]);
  });
});

describe('the ended steps', () => {
  it('are those before the first running one', () => {
    expect(settledSteps(sampleProgress([]))).toBe(0);
    expect(settledSteps(sampleProgress([sampleStep({ step: 'find' })]))).toBe(1);
    const progress = sampleProgress([sampleStep({ step: 'find' }), runningStep({ step: 'patch' })]);
    expect(settledSteps(progress)).toBe(1);
  });
});

describe('a text on one line', () => {
  it('is truncated at the terminal’s width', () => {
    expect(fitLine('abcdef', 6)).toBe('abcdef');
    expect(fitLine('abcdefg', 6)).toBe('abcde…');
    expect(fitLine('a\n  b', 6)).toBe('a b');
  });
});
