import { createTypeScriptImportResolver } from 'eslint-import-resolver-typescript';
import importX from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

/**
 * The rooms of `src/` and the rooms that each may use. Every room may use `domain`, which uses none.
 * CONTRIBUTING.md has the picture; this table is what holds it.
 */
const ARROWS = {
  domain: [],
  contract: [],
  clients: ['contract'],
  config: [],
  artifact: [],
  temporal: ['workflows/messages.ts'],
  platform: ['contract'],
  judge: ['clients', 'config'],
  activities: ['clients', 'artifact', 'config', 'judge'],
  workflows: ['activities'],
  rehearsal: ['activities', 'artifact', 'temporal', 'config', 'worker.ts', 'workflows/messages.ts'],
  dashboard: ['temporal', 'config', 'artifact', 'clients', 'platform'],
  cli: [
    'temporal',
    'config',
    'artifact',
    'clients',
    'platform',
    'judge',
    'dashboard',
    'rehearsal',
    'worker.ts',
  ],
};

const zones = Object.entries(ARROWS).map(([room, uses]) => ({
  target: `./src/${room}`,
  from: './src',
  except: [...new Set([room, 'domain', ...uses])].map((name) => `./${name}`),
  message: `src/${room} may use only: ${[room, 'domain', ...uses].join(', ')} (the arrows in eslint.config.js).`,
}));

export default tseslint.config(
  {
    ignores: [
      'dist',
      'node_modules',
      '**/fixtures/**',
      'examples',
      '.slipway',
      'docs/.vitepress/cache',
      'docs/.vitepress/dist',
    ],
  },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname } },
    plugins: { 'import-x': importX },
    settings: { 'import-x/resolver-next': [createTypeScriptImportResolver({ project: './tsconfig.json' })] },
    rules: {
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-empty': ['error', { allowEmptyCatch: false }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      // With `verbatimModuleSyntax`, `import { type X }` loads X's module.
      '@typescript-eslint/no-import-type-side-effects': 'error',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/only-throw-error': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      'import-x/no-cycle': 'error',
      'import-x/no-default-export': 'error',
      'import-x/no-restricted-paths': ['error', { zones }],
    },
  },
  {
    // Workflow code runs in Temporal's deterministic sandbox: nothing but the SDK, types, and pure functions.
    files: ['src/workflows/**/*.ts', 'src/domain/**/*.ts'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^(node:|zod|undici|hono|pino|@temporalio/(client|worker|activity)|\\.\\./activities)',
              message: 'Workflow code and the domain stay deterministic and light: `import type` only.',
              allowTypeImports: true,
            },
          ],
        },
      ],
      'no-restricted-globals': ['error', 'process', 'Buffer', 'fetch'],
    },
  },
  {
    // What commands print has its schemas beside them: they are for tests and pages, and cost the start of a command.
    files: ['src/cli/**/*.ts'],
    ignores: ['src/cli/events/**'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '/events/(?!schemaVersion\\.ts$)',
              message: 'No command loads the schemas of what it prints: `import type` only.',
              allowTypeImports: true,
            },
          ],
        },
      ],
    },
  },
  {
    files: ['vitest.config.ts', 'examples/**', 'docs/.vitepress/**', 'test/support/postgresRunner.ts'],
    rules: { 'import-x/no-default-export': 'off' },
  },
  {
    files: ['test/**/*.ts'],
    rules: {
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
);
