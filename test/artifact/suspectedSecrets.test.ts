import { describe, expect, it } from 'vitest';

import { sourceFiles } from '../../src/artifact/sourceFiles.ts';
import { type SuspectedSecret, suspectedSecrets } from '../../src/artifact/suspectedSecrets.ts';
import { useFolders, writeFiles } from '../support/temporaryFolder.ts';

const root = useFolders();

const source = (files: Readonly<Record<string, string>>): Promise<void> => writeFiles(root(), files);

async function suspected(signal?: AbortSignal): Promise<SuspectedSecret[]> {
  const entries = await sourceFiles(root(), []);
  return suspectedSecrets({ root: root(), entries, signal });
}

/** Concatenated here, so that secret scanners do not report it in this file. */
const TOKEN = ['ghp', 'wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx'].join('_');

describe('a suspected secret', () => {
  it('is found by the content of a line, and reported without it', async () => {
    await source({ 'graph.json': '{}', 'src/agent.ts': `// greets\nconst token = '${TOKEN}';\n` });
    const found = await suspected();
    expect(found).toEqual([{ path: 'src/agent.ts', line: 2, what: 'GitHub Token' }]);
  });

  it.each(['new\nline.txt', 'the::end.txt', 'café 🚢.txt'])(
    'is found in a file of any name: %j',
    async (path) => {
      await source({ [path]: TOKEN });
      expect(await suspected()).toEqual([{ path, line: 1, what: 'GitHub Token' }]);
    },
  );

  it.each([
    '.aws/credentials',
    'credentials.json',
    'keys/service-account-production.json',
    'client_secret_42.json',
    'secrets.yaml',
    '.pgpass',
    'team.kdbx',
    'infrastructure/terraform.tfstate',
    '.docker/config.json',
  ])('is found by the name %s', async (path) => {
    await source({ [path]: '{}', 'agent.ts': 'export {};' });
    expect(await suspected()).toMatchObject([{ path, line: null }]);
  });

  it('is not an ignored file, nor a line marked as harmless', async () => {
    await source({
      '.slipwayignore': 'fixtures/\n',
      'fixtures/token.txt': TOKEN,
      'agent.ts': `const example = '${TOKEN}'; // secretlint-disable-line\n`,
    });
    expect(await suspected()).toEqual([]);
  });

  it('is not searched for in binary files', async () => {
    await source({ 'model.bin': `\0${TOKEN}` });
    expect(await suspected()).toEqual([]);
  });

  it('is not searched for after a cancellation', async () => {
    await source({ 'agent.ts': 'export {};' });
    await expect(suspected(AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  });

  it('is searched for without a timer for each rule, which all later ones would be compared with', async () => {
    await source({ 'agent.ts': 'export {};' });
    const before = performance.getEntriesByType('mark').length;
    await suspected();
    expect(performance.getEntriesByType('mark')).toHaveLength(before);
  });
});
