import { PassThrough } from 'node:stream';

import { describe, expect, it } from 'vitest';

import { ciCommand, createOutput, type Output } from '../../src/cli/output.ts';

function made(
  environment: Record<string, string>,
  {
    isTTY = true,
    json = false,
    quiet = false,
    errors = 'stdout',
  }: { isTTY?: boolean; json?: boolean; quiet?: boolean; errors?: 'stdout' | 'file' } = {},
): { output: Output; stdout: () => string; stderr: () => string } {
  const out = Object.assign(new PassThrough(), { isTTY, columns: 120 });
  const err = Object.assign(new PassThrough(), { isTTY: isTTY && errors === 'stdout' });
  const output = createOutput({ json, verbose: false, quiet, environment, stdout: out, stderr: err });
  // From Node 26 on, one read gives one chunk.
  const read = (stream: PassThrough) => () => {
    const chunks: string[] = [];
    for (let chunk; (chunk = stream.read() as Buffer | null) !== null;) chunks.push(chunk.toString());
    return chunks.join('');
  };
  return { output, stdout: read(out), stderr: read(err) };
}

describe('the output of a command', () => {
  it.each<[string, Record<string, string>, Parameters<typeof made>[1], boolean, boolean]>([
    ['a terminal', {}, {}, true, true],
    ['a terminal with NO_COLOR', { NO_COLOR: '1' }, {}, false, true],
    [
      'a terminal with NO_COLOR=0, which no-color.org gives no other meaning',
      { NO_COLOR: '0' },
      {},
      false,
      true,
    ],
    ['a terminal in CI', { CI: 'true' }, {}, false, false],
    ['a terminal where CI is said to be false', { CI: 'false' }, {}, true, true],
    ['a terminal where CI is 0', { CI: '0', NO_COLOR: '' }, {}, true, true],
    ['a terminal that can do nothing', { TERM: 'dumb' }, {}, false, false],
    ['a pipe', {}, { isTTY: false }, false, false],
    ['a terminal with --json', {}, { json: true }, false, false],
    ['a terminal with --quiet', {}, { quiet: true }, true, false],
  ])('on %s', (_where, environment, options, colored, live) => {
    const { output } = made(environment, options);
    expect(output.style.bad('x') !== 'x').toBe(colored);
    expect(output.live).toBe(live);
  });

  it('is text, without events, without --json', () => {
    const { output, stdout, stderr } = made({});
    output.print('said');
    output.note('noted');
    output.event({ event: 'answering' });
    expect([stdout(), stderr()]).toEqual(['said\n', 'noted\n']);
  });

  it('has no colors on stderr if only stderr goes to a file', () => {
    const { output, stderr } = made({}, { errors: 'file' });
    output.note(output.style.bad('noted'));
    expect(stderr()).toBe('noted\n');
  });

  it('has progress, except with --quiet, which keeps results and warnings', () => {
    for (const quiet of [false, true]) {
      const { output, stdout, stderr } = made({}, { quiet });
      output.info('goes on');
      output.progress('is being made ready');
      output.print('said');
      output.note('noted');
      const told = quiet ? ['said\n', 'noted\n'] : ['goes on\nsaid\n', 'is being made ready\nnoted\n'];
      expect([stdout(), stderr()]).toEqual(told);
    }
  });

  it('is events, without text, with --json', () => {
    const { output, stdout, stderr } = made({}, { json: true });
    output.print('said');
    output.note('noted');
    output.event({ event: 'queued', reason: 'a\n\u001b[31m\u009b1A\u007f' });
    const reason = String.raw`a\n\u001b[31m\u009b1A\u007f`;
    expect([stdout(), stderr()]).toEqual([`{"event":"queued","schemaVersion":1,"reason":"${reason}"}\n`, '']);
  });

  it('shows the characters of what it prints that command the terminal or reorder lines, removes colors, and keeps its own, tabs and ends of lines', () => {
    const { output, stdout, stderr } = made({}, {});
    const text =
      '\u001b[31mred\u001b[0m \u001b[8m\u001b]0;title\u0007\u001b[2J\u009b1A\u202e\rover\tand\r\n' +
      output.style.bad('out');
    output.print(text);
    output.note(text);
    const shown = 'red \\x1b]0;title\\x07\\x1b[2J\\x9b1A\\x202e\\x0dover\tand\r\n\u001b[31mout\u001b[39m\n';
    expect(stdout()).toBe(shown);
    expect(stderr()).toBe(shown);
  });

  it('on GitHub contains no command to the runner but Slipway’s own', () => {
    const { output, stdout, stderr } = made({ GITHUB_ACTIONS: 'true', CI: 'true' }, { isTTY: false });
    const outside = 'a\n  ::set-output name=agent-url::x\n::add-mask::e\nbuild ##[set-output name=x]y :: ##';
    output.print(outside);
    output.note(outside);
    output.print(ciCommand('::error title=t::m'));
    const shown =
      'a\n  \\x3a:set-output name=agent-url::x\n\\x3a:add-mask::e\nbuild ##\\x5bset-output name=x]y :: ##\n';
    expect([stdout(), stderr()]).toEqual([`${shown}::error title=t::m\n`, shown]);
  });

  it('elsewhere keeps a text that would be a command to GitHub’s runner', () => {
    const { output, stdout } = made({ CI: 'true' }, { isTTY: false });
    output.print('::add-mask::e ##[group]');
    expect(stdout()).toBe('::add-mask::e ##[group]\n');
  });

  it('with --json contains no command to GitHub’s runner, and keeps the text', () => {
    const { output, stdout } = made({}, { json: true });
    output.event({ event: 'queued', reason: '##[add-mask]e ###[' });
    const line = stdout();
    expect(line).not.toContain('##[');
    expect(JSON.parse(line)).toMatchObject({ reason: '##[add-mask]e ###[' });
  });
});
