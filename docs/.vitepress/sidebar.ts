import type { DefaultTheme } from 'vitepress';

/** Every page of the site but the first, in the order in which they are read. A test holds this against the folder. */
export const SIDEBAR: DefaultTheme.SidebarItem[] = [
  {
    text: 'Start',
    items: [
      { text: 'Tutorial: ten minutes', link: '/tutorial' },
      { text: 'Installing', link: '/installing' },
      { text: 'Concepts and glossary', link: '/concepts' },
    ],
  },
  {
    text: 'How to',
    items: [
      { text: 'Release from CI', link: '/guides/ci' },
      { text: 'From the pull request to the alert', link: '/guides/team' },
      { text: 'Promote from a canary', link: '/guides/canary' },
      { text: 'Roll back at 3 a.m.', link: '/guides/rollback' },
      { text: 'Resolve a stuck release', link: '/guides/stuck-release' },
      { text: 'Use Temporal Cloud', link: '/guides/temporal-cloud' },
      { text: 'Operate it', link: '/operating' },
      { text: 'Upgrade Slipway', link: '/guides/upgrade' },
      { text: 'Worker versions', link: '/worker-versioning' },
      { text: 'The page (slipway dashboard)', link: '/dashboard' },
      { text: 'Sign in to the page', link: '/sign-in' },
      { text: 'Encrypt payloads', link: '/encryption' },
      { text: 'Traces and logs', link: '/traces' },
      { text: 'Metrics and alerts', link: '/metrics' },
      { text: 'Run it in containers', link: '/containers' },
      { text: 'Run it in Kubernetes', link: '/kubernetes' },
      { text: 'Ready for production', link: '/production' },
      { text: 'The public API’s names', link: '/public-vocabulary' },
    ],
  },
  {
    text: 'Why',
    items: [
      { text: 'Why it cannot deploy twice', link: '/never-twice' },
      { text: 'The threat model', link: '/threat-model' },
      { text: 'Capacity', link: '/capacity' },
      { text: 'The crash matrix', link: '/crash-matrix' },
      { text: 'Chaos tests', link: '/chaos' },
      { text: 'Dependencies', link: '/dependencies' },
      { text: 'The supply chain', link: '/supply-chain' },
    ],
  },
  {
    text: 'Reference: the command',
    items: [
      { text: 'Commands', link: '/commands' },
      { text: 'slipway.yaml', link: '/slipway-yaml' },
      { text: 'Environment variables', link: '/environment' },
      { text: 'Exit codes', link: '/exit-codes' },
      { text: 'Errors', link: '/errors' },
      { text: '--json', link: '/json' },
    ],
  },
  {
    text: 'Reference: releases',
    items: [
      { text: 'Checks', link: '/checks' },
      { text: 'Evaluators', link: '/evaluators' },
      { text: 'Promotions and freezes', link: '/promotions' },
      { text: 'Previews', link: '/previews' },
      { text: 'The judge', link: '/judge' },
      { text: 'Notifications', link: '/notifications' },
      { text: 'Hooks', link: '/hooks' },
      { text: 'Guards', link: '/guard' },
      { text: 'The artifact store', link: '/artifact-store' },
    ],
  },
  {
    text: 'Reference: the platform',
    items: [
      { text: 'The Run API', link: '/run-api' },
      { text: 'Access to a platform', link: '/platform-access' },
      { text: 'Repositories as sources', link: '/git-sources' },
      { text: 'Images', link: '/images' },
    ],
  },
];
