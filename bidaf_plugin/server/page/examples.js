// Texts to try, all invented. The first question of each is asked when it is chosen.

export const SPAN_EXAMPLES = [
  {
    title: "A lighthouse",
    passages: [
      "The lighthouse on Skarv Point was designed by the engineer Helena Brandt and first lit on 14 March 1887. Built of grey granite that barges brought from the quarries at Lunde, it stands 38 metres tall, and on clear nights its light can be seen from a distance of 19 nautical miles. For the first six decades a keeper lived in the tower with his family. In 1949 the lamp was converted to electricity, and the last keeper, Tomas Eide, left the point in the following spring. Today the tower is a museum, which about 12,000 people visit every year.",
    ],
    questions: [
      "Who designed the lighthouse on Skarv Point?",
      "When was the lamp converted to electricity?",
      "How tall is the lighthouse?",
      "What is the tower today?",
    ],
  },
  {
    title: "Why a town moved",
    passages: [
      "In the spring of 1764 the people of Orlow left their town and built a new one on the hill above it. They moved because the river Tesk had flooded the market square in four of the previous five years. Stones from the old church were carried up the slope by hand, and the bell, which weighs almost two tonnes, was pulled by eleven oxen. Only the miller stayed behind, since his wheel needed the water. The new town was given straight streets so that fires could not spread as easily as they had before.",
    ],
    questions: [
      "Why did the miller stay behind?",
      "Why did the people of Orlow move?",
      "How much does the bell weigh?",
      "Where was the new town built?",
    ],
  },
  {
    title: "Numbers",
    passages: [
      "The Halden tunnel is 7.4 kilometres long and lies 212 metres below the sea at its deepest point. Work began in 2003 with 340 workers, and the tunnel was opened to traffic on 9 June 2008, seven months earlier than planned. It cost 186 million crowns, of which the two islands paid a third. On an average day 4,150 vehicles use it; before, the ferry carried fewer than 900.",
    ],
    questions: [
      "How long is the Halden tunnel?",
      "How many vehicles use the tunnel on an average day?",
      "How much did the tunnel cost?",
      "When was the tunnel opened to traffic?",
    ],
  },
  {
    title: "Nature",
    passages: [
      "Alpine marmots spend more than half of the year asleep. Before winter they close the entrance of the burrow with a plug of earth, stones and grass. During hibernation the heart of a marmot beats only about five times per minute, and its body temperature falls to between 5 and 10 degrees. The animals live on fat that they gained in summer, and lose up to a third of their weight. Young marmots lie in the middle of the group, where the adults keep them warm.",
    ],
    questions: [
      "What do alpine marmots live on during hibernation?",
      "How often does the heart of a marmot beat during hibernation?",
      "Who keeps young marmots warm?",
    ],
  },
  {
    title: "No answer",
    passages: [
      "The first library of Maren was a room above the bakery, and the books smelled of bread for years. It opened in October 1921 with 260 books, most of them given by the schoolteacher Ilse Rown. In 1958 the library moved into the old railway station, where it still is.",
    ],
    questions: [
      "Who was the architect of the railway station?",
      "Who gave most of the books?",
      "When did the library open?",
    ],
  },
  {
    title: "Three passages",
    passages: [
      "The observatory on Mount Keil was founded in 1902 by the astronomer Ruth Adler. Its first telescope had a lens of 40 centimetres and came from Jena by mule.",
      "The observatory at Port Solas stands beside the harbour. It was founded by the navy in 1871 so that ships could set their clocks, and a red ball still falls from its mast at noon.",
      "The observatory in the Tarim desert has no visitors at all. Its four telescopes are steered over a satellite link by students at the University of Brask.",
    ],
    questions: [
      "Who founded the observatory at Port Solas?",
      "Who founded the observatory on Mount Keil?",
      "Who steers the telescopes in the Tarim desert?",
    ],
  },
  {
    title: "Signs and scripts",
    passages: [
      "☕🌙 The Moon Café (in Arabic مقهى القمر, in Hebrew קפה ירח) was opened in Lisbon in 1998 by the Syrian cook Samir Haddad 👨🏽‍🍳. Its naïve sign, a crème-coloured crescent, was painted by his daughter Noor for a crêpe and 20 €.",
    ],
    questions: [
      "When was the Moon Café opened?",
      "Who opened the Moon Café?",
      "Who painted the sign?",
    ],
  },
];

export const CLOZE_EXAMPLES = [
  {
    title: "A quay",
    passages: [
      "@entity4 ( @entity0 ) -- the old harbour of @entity0 was opened again on monday by @entity2 , who said that @entity7 had paid for the new quay . \" @entity7 has been generous , \" said @entity2 . fishermen from @entity4 came with forty boats .",
    ],
    questions: ["@placeholder paid for the quay of @entity0", "@placeholder opened the harbour again"],
    names: "@entity0: Lorbeck\n@entity2: Mila Tarn\n@entity4: Eastfold\n@entity7: Jon Averill",
  },
  {
    title: "An election",
    passages: [
      "the people of @entity3 have chosen @entity5 as their new mayor . @entity5 , who taught at the village school for twenty years , won against @entity8 by only eleven votes . @entity8 said that she would ask for a recount . the old mayor , @entity1 , gave the keys of the town hall to @entity5 on friday .",
    ],
    questions: [
      "@placeholder is the new mayor of @entity3",
      "@placeholder lost the election by eleven votes",
    ],
    names: "@entity1: Otto Lind\n@entity3: Greyfield\n@entity5: Vera Holm\n@entity8: Anna Pell",
  },
  {
    title: "A painting",
    passages: [
      "@entity6 painted a large picture of the harbour for @entity2 . it hung in the house of @entity2 until last week , when it was sold to the museum of @entity9 . @entity4 , who leads the museum , called it the finest work of @entity6 .",
    ],
    questions: [
      "@placeholder painted the picture that the museum of @entity9 has bought",
      "@placeholder leads the museum of @entity9",
    ],
    names: "@entity2: Piet Vos\n@entity4: Clara Fenn\n@entity6: Ines Moor\n@entity9: Westhaven",
  },
];
